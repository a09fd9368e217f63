"""What any kind of change may ask for: holds, freezes, blocks, pins, budgets, mutexes, approvals,
health."""
