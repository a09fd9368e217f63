"""What Tidegate says about itself while it runs: lines and numbers."""
