"""Findings, progress and actions as text, for the commands of every kind."""
