"""A Kubernetes control plane as child processes of one program.

Hides how each process is found, started, watched and ended.
"""
