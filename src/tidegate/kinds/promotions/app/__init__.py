"""Promotions carried out: the world looked at, a change offered."""
