"""Golden files: what every field of an integration results in, as a cluster is handed it."""
