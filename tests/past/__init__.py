"""The past: decided again from the facts that were recorded by then."""
