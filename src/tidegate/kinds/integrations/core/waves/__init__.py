"""Images of shards as a rollout; pure."""
