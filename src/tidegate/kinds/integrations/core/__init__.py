"""The rules of integrations; pure."""
