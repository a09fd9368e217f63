"""Clients of the systems that only integrations use."""
