"""Promotions over HTTP."""
