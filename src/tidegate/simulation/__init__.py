"""A fleet that behaves: a virtual clock and simulated targets."""
