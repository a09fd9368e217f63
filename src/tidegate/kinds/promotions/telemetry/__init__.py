"""Metrics of promotions."""
