"""A simulated API server that keeps the contract of the real one."""
