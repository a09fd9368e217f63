"""Puts the parts together; the only module that knows every adapter."""

from tidegate.adapters.system_clock import SystemClock
from tidegate.ports.clock import Clock


def clock() -> Clock:
    """The clock of the machine."""
    return SystemClock()
