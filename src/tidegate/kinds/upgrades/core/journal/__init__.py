"""The state of an organisation as a fold over facts; pure."""
