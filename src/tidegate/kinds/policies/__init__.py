"""Policies of Open Cluster Management: groups of clusters from placements."""
