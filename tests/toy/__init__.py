"""A toy kind, to keep the description in CONTRIBUTING.md true."""
