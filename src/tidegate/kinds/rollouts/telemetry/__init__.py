"""Metrics and log lines of rollouts."""
