"""Upgrades by our own rules: every gate for every version, and no cluster stops another."""
