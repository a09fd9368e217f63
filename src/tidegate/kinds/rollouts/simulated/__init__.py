"""Simulated fleets for rollouts, in virtual time."""
