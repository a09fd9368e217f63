"""Git repositories: ports, client, trees of files."""
