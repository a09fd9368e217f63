"""Notices to people: port and webhook."""
