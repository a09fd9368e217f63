"""Promotions: a version moved from environment to environment; start reading at `decide.py`."""
