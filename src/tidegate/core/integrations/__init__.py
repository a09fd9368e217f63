"""Integrations: which shards there are, what each runs, and the workloads that run it."""
