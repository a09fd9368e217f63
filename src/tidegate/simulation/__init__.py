"""A fleet that behaves: virtual time, simulated clusters, and faults, behind the real rules."""
