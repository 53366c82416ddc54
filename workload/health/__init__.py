"""Sick nodes are taken out of service, and let in again once they are sound."""
