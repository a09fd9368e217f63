"""Documents and lines of integrations; pure."""
