"""Documents of promotions; pure."""
