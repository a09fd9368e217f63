"""The rules for rolling a change out over ordered groups of targets."""
