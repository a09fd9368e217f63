"""What upgrades serve over HTTP."""
