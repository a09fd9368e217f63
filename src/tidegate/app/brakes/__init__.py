"""Brakes: what people ask for, what it covers, the record of it, and what is on."""
