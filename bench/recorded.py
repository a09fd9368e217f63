"""What the Go library took, as recorded, for machines that have no Go to run it.

Recorded on a 2-core machine with the library's 2026-05 revision, one decision over the fleet of
fleet.py. At 1,000 targets it is the best wall time seen, at 10,000 and 100,000 the CPU time of the
process. The machine was busy and is not this one: a ratio to these figures shows the order of
magnitude and no more.
"""

SOURCE = "recorded"
NOTE = (
    "recorded: on a 2-core machine with the library's 2026-05 revision, not in this run;"
    " such a ratio is an order of magnitude"
)

SIZES = (1_000, 10_000, 100_000)

# Milliseconds at SIZES.
_MS = {
    "All/fresh": (0.811, 30.4, 465.3),
    "All/half": (1.6, 166.9, 19_800.0),
    "All/done": (2.5, 309.0, 45_000.0),
    "Progressive/fresh": (1.5, 41.0, 788.7),
    "Progressive/half": (2.5, 169.8, 23_300.0),
    "Progressive/done": (4.2, 267.2, 39_600.0),
    "PerGroup/fresh": (0.197, 8.0, 124.2),
    "PerGroup/half": (1.0, 146.6, 15_100.0),
    "PerGroup/done": (1.9, 193.5, 31_100.0),
    "ProgMand/fresh": (0.382, 9.5, 241.6),
    "ProgMand/half": (1.2, 98.1, 16_700.0),
    "ProgMand/done": (4.2, 204.9, 28_500.0),
}


def recorded_ms(scenario: str, size: int) -> float:
    """What the library took for that scenario at one of SIZES."""
    return _MS[scenario][SIZES.index(size)]
