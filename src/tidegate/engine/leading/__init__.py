"""Leading by lease: which partitions there are, which worker has each, and its share."""
