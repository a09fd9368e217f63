"""`pin`, `unpin` and `get pins` on shards of a bundle."""
