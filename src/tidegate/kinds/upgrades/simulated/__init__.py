"""Events and stories of simulated upgrades."""
