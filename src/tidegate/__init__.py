"""Tidegate lets change into a fleet one safe step at a time, and says why the rest waits."""

__version__ = "0.1.0"
