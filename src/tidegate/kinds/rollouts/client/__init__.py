"""Clients of fleets in other processes."""
