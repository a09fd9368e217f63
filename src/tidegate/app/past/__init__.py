"""Questions about the past, decided again from the facts that were recorded by then."""
