"""Versions that move through channels by evidence: publishers show them, subscribers follow."""
