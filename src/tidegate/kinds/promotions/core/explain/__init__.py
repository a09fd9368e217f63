"""What people and programs see of a promotion; pure."""
