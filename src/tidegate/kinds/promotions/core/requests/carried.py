"""Which open merge request holds a promotion of some channels: looked up, not searched.

Requests of ours name each combination of channels that they hold, and are found by it. Those of the
existing manager write down the channels of a whole batch, any of which may be meant; they are few
while both run, and are asked one by one.
"""

from collections.abc import Iterable

from tidegate.kinds.promotions.core.requests.model import (
    Combination,
    RequestOrigin,
    SeenRequest,
)


class CarriedChannels:
    """The first of some requests, in the order they were added in, that carries channels."""

    def __init__(self, requests: Iterable[SeenRequest] = ()) -> None:
        self._number = 0
        self._ours: dict[Combination, tuple[int, SeenRequest]] = {}
        self._existing: list[tuple[int, SeenRequest]] = []
        for each in requests:
            self.add(each)

    def add(self, request: SeenRequest) -> None:
        """One more, after all others."""
        placed = self._number, request
        self._number += 1
        if request.origin is RequestOrigin.EXISTING:
            self._existing.append(placed)
        else:
            for each in request.holds:
                self._ours.setdefault(each.channels, placed)

    def first(self, channels: Combination) -> SeenRequest | None:
        """The request that carries these channels; None: there is none."""
        found = [self._ours[channels]] if channels in self._ours else []
        found += [each for each in self._existing if each[1].carries(channels)][:1]
        return min(found, key=lambda each: each[0])[1] if found else None
