"""Forges: port, clients, and where a merge request is."""
