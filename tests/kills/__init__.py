"""Real processes killed in the middle of their work: workers, and the database under them."""
