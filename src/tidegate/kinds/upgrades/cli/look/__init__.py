"""The world that the commands on upgrades read."""
