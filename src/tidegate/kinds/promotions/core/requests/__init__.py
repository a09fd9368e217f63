"""Which merge requests carry the promotions of a pipeline, and what is done about each."""
