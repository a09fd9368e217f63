"""Lines of placements; pure."""
