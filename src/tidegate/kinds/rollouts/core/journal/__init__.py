"""The state of a rollout as a fold over facts, and its plans as facts; pure."""
