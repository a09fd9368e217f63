"""Git repositories through the `git` command: a clone that somebody has, or a mirror of ours."""
