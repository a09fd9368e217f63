"""Upgrades by our own rules: every gate asked of every version, and nobody stopped by another."""
