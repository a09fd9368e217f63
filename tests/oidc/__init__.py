"""Logins by an issuer."""
