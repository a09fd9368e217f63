"""What is remembered: facts in order, chained by hash, and the state that follows from them."""
