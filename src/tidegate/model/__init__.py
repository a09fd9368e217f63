"""The words every kind of change shares: targets, limits, verdicts, options, plans."""
