"""The page in the past: a bar with a slider, and what changed lately."""
