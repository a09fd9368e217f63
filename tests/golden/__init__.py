"""Golden files: what every field of an integration comes to, as a cluster is handed it."""
