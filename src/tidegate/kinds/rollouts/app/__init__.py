"""Questions and acts of rollouts: typed functions that return documents."""
