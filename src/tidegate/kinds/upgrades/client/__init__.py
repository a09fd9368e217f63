"""Clients of the systems that only upgrades use."""
