"""Months of pipelines in virtual time, with a witness that knows only what was shown."""
