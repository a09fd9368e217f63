"""The merge requests of pipelines: read from the forge, described, opened, updated and closed."""
