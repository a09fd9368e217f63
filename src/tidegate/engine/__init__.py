"""Rounds: observe, decide, record, act; when to run next; who leads."""
