"""Schedules as crontab writes them: their grammar, and when one fires."""
