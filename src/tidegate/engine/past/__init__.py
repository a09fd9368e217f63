"""The journal as it was at a moment."""
