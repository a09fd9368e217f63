"""The machine we run on: its clock and its cache."""
