"""The sources that commands on upgrades read, as flags and settings name them."""
