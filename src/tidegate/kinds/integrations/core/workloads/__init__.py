"""The objects of a bundle, and how they differ from what runs; pure."""
