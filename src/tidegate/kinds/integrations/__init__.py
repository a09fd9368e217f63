"""Integrations: sharded reconcile loops, rendered to Kubernetes workloads."""
