"""The bundle: every file people declare things in, read, checked and joined into one model."""
