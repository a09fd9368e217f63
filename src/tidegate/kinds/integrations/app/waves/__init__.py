"""Waves through Git: shards keep their image by overrides, and merge requests take these away."""
