"""What a change of a bundle affects, and how it is proved; pure."""
