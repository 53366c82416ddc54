"""A Kubernetes control plane as child processes of one program; it hides how each process is found, started, watched and ended."""
