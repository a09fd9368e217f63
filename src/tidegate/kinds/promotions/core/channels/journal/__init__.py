"""The state of a pipeline as a fold over facts; pure."""
