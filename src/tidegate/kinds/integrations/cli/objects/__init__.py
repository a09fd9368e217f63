"""`plan`, `diff`, `apply` and `release`: objects on clusters."""
