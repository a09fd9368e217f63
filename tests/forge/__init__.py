"""Forges to test with: real bare repositories, behind nothing or behind real HTTP."""
