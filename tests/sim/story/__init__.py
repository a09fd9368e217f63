"""Stories in virtual time, for every kind: real workers, rounds, leases and stores under faults.

A story is made from a seed: workers that crash, freeze and have wrong clocks, faults at the ports,
people who change their minds; first trouble, then quiet, in which everything arrives. It is watched
from outside by a witness, which knows nothing of how we decide.

    life.py      a worker from its start to its stop, or to the call in which it dies
    scene.py     one story: workers, faults, acts; a kind adds its world and its people
    witness.py   what was seen and acknowledged; a kind adds its laws
    run.py       the story of a seed, lived through; a failure prints the command that repeats it
    ending.py    the journal at the end of a story
    missing.py   an engine with one rule missing, which some story must find

A kind brings a Scene and a Witness of its own. `tests/toy/test_stories.py` is the smallest,
`tests/sim/loop` (rollouts) and `tests/sim/upgrades` are large ones.

A step is one call by which a worker takes a lease, reads, writes, observes or acts (polling for
news is not counted): a point at which it can crash, before and after, and the other side can fail.
"""
