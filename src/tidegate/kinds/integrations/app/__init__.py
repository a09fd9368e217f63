"""Integrations on clusters: what is read of them, and how a new image reaches their shards."""
