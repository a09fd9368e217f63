"""Git repositories through the `git` command: a user's clone, or our mirror."""
