"""The state of a promotion as a fold over facts; pure."""
