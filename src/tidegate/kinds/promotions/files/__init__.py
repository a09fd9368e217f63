"""Promotions in the files of a bundle: declared, found, changed; start reading at `versions.py`."""
