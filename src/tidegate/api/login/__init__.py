"""How callers of the API are known, and how much they may ask."""
