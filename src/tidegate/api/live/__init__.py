"""Journals as a process that answers again and again has them: young, and in memory."""
