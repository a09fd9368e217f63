"""What Tidegate says about itself: lines and numbers agree with what was decided."""
