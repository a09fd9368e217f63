"""Forges: the port, a client for each, and which forge a remote is at."""
