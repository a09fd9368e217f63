"""Kubernetes clusters: port, client and simulator."""
