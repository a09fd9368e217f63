"""The policy kind: which groups its clusters form."""
