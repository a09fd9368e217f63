"""Which shards an integration has; pure."""
