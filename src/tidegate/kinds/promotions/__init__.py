"""Promotions: versions across environments, by commits and merge requests."""
