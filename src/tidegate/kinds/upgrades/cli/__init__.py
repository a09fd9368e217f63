"""Commands of upgrades."""
