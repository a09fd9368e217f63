"""From plans to words: the one renderer for the CLI, pages, merge requests, logs and tests."""
