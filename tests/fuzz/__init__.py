"""Documents made to hurt, from a seed, through every reader of input."""
