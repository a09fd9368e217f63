"""Cron schedules and windows; pure."""
