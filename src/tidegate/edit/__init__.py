"""Edits of files that change exactly the lines meant; start reading at `edit.py`."""
