"""Promotions in a bundle: declared, found, changed; start reading at `finding.py`."""
