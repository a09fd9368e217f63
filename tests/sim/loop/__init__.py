"""Rollouts in virtual time: real workers, rounds, leases and stores under every fault.

A story (`tests/sim/story`) of one to five rollouts with drawn strategies, and people who approve,
pause, abort and change their minds. It is watched from outside: what the fleet was asked for and
when, and what is in the journal.
"""
