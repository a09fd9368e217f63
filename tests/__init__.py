"""Tidegate's tests: laws, simulation, scenarios, vectors, contracts, tables, end to end."""
