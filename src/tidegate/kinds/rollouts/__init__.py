"""Rollouts: a revision over ordered groups of targets."""
