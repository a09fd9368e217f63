"""Prometheus as a witness: what is asked, what it may answer, and what that proves. Pure."""
