"""Documents and lines of rollouts; pure."""
