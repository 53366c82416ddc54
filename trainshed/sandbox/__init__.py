"""A Kubernetes control plane as child processes of one program.

Every process ends with its starter, and listens on 127.0.0.1 alone.
"""
