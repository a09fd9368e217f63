"""Upgrades of clusters: reading the world they are decided in."""
