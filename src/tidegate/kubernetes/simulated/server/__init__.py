"""Simulated clusters behind the HTTP interface of real ones."""
