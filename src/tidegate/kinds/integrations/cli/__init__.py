"""Commands of integrations."""
