"""A change of a bundle tried before it is merged: both revisions, and runs of what it affects."""
