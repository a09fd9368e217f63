"""`hold`, `freeze`, `block`, `free`: brakes set, listed and lifted."""
