"""A hub of Open Cluster Management: what is read of it, and what is written to it."""
