"""Pipelines as a worker reads and moves them; start reading at `observation.py`."""
