"""Images of shards moved on clusters: the fleet that the engine changes."""
