"""What a new kind need not write: rules and a state for tasks that are planned and carried out."""
