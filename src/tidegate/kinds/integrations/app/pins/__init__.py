"""Pins in the bundle: shards that keep an image of their own, planned, written and listed."""
