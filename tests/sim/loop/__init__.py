"""The whole loop in virtual time: real workers, rounds, desks, leases and stores under every fault.

A story is made from a seed: partitions, strategies, workers that crash, freeze and have wrong
clocks, faults at the ports, and people who approve, pause, abort and change their minds. It is
watched from outside: what the fleet was reported and when, and what stands in the journal.

A step is one call by which a worker takes a lease, reads, writes, observes or acts (polling for
news is not counted): a point at which it can crash, before and after, and the other side can fail.
"""
