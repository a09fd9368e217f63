"""A simulated hub: it behaves as a stock one was seen to behave."""
