"""Commands about tokens, and about what a caller may."""
