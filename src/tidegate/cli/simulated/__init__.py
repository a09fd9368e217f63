"""The page over simulated fleets."""
