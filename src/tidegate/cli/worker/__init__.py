"""`run` and `serve`: the commands that start a worker."""
