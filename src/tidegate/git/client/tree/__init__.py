"""Trees of files: a directory, or a revision of a Git repository."""
