"""What people and programs see of a pipeline; pure."""
