"""Commands of rollouts on scenarios."""
