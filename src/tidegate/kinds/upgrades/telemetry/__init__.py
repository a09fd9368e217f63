"""Metrics and log lines of upgrades."""
