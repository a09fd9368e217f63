"""HTTP: what all clients share."""
