"""The page of `serve`: HTML from the same documents as the API, live by its streams."""
