"""Rounds: observe, decide, record, act; when to run next; which worker leads."""
