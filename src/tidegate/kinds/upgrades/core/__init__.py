"""Upgrades: labels, schedules, sectors and versions of clusters that upgrade when it is safe."""
