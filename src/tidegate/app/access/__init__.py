"""What a service and its commands answer about callers: roles, sight, tokens."""
