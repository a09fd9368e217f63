"""Pure decisions: no I/O, no clock, no randomness, no logging, no async."""
