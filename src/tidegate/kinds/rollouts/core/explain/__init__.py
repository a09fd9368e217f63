"""A plan of a rollout as a table, a tree and notices; pure."""
