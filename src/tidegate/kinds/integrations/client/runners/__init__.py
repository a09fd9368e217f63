"""Ways to run an image once: a local command, a container."""
