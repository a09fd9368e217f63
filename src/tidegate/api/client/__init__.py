"""A client of a service: the same documents, the same errors."""
