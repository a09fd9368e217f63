"""What owners declare in labels: shown, checked, and changed."""
