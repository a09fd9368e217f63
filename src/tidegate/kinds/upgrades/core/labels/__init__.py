"""Labels: read, checked, edited and declared; pure."""
