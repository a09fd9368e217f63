"""Documents and lines of upgrades; pure."""
