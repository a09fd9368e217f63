"""Simulated clusters in which workloads run: controllers, nodes, and what their pods say."""
