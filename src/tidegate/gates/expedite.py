"""An expedite is the opposite of a brake: this version now, for a scope, a reason and a while.

It is kept, listed and lifted beside the brakes, and it lifts none of them: holds, freezes, blocks,
pins, budgets, mutexes and approvals stand. What it skips is up to the kind of change; only upgrades
of clusters have something to skip (`kinds/upgrades/core/rules/expedite.py`).
"""

from tidegate.gates.scope import Brake


class Expedite(Brake, frozen=True, kw_only=True):
    """This version now, wherever the scope says; it has an end, or it would be a policy."""

    version: str  # `*` stands for any text, `?` for one character
