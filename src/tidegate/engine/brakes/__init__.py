"""Brakes of every source, put together for one decision, with evidence of health."""
