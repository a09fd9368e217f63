"""Commands on policies of a hub."""
