"""Leading by lease: which worker has a partition, and that each has its share."""
