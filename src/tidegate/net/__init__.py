"""What clients share that speak HTTP."""
