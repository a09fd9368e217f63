"""Objects of a namespace: what is declared of each, what is there, and what is done about it."""
