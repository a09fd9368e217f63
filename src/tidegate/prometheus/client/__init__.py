"""Prometheus over HTTP."""
