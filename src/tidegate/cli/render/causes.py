"""One cause, one line: of many things with the same cause two are shown, and the rest are counted.

Without access to a cluster everything on it fails alike; a line for each hides what else is wrong.
`--verbose` shows all.
"""

from collections.abc import Iterable, Iterator

# So many of one cause are shown.
SHOWN_MAX = 2
# What stands for a name that differs from one thing to the next.
_NAME = "NAME"
_ALL = "--verbose lists all"


class CauseCount:
    """Counts things by their cause, while they are shown one after the other."""

    def __init__(self, *, verbose: bool = False) -> None:
        self._verbose = verbose
        self._counts: dict[str, int] = {}

    def shows(self, text: str, *names: str) -> bool:
        """Whether to show one more thing with this cause; its own names make no other cause."""
        cause = cause_of(text, *names)
        self._counts[cause] = self._counts.get(cause, 0) + 1
        return self._verbose or self._counts[cause] <= SHOWN_MAX

    def rest(self, verb: str = "") -> Iterator[str]:
        """A line for every cause of which not all were shown."""
        for cause, count in self._counts.items():
            if count > SHOWN_MAX and not self._verbose:
                yield f"and {count - SHOWN_MAX:,} more{verb and f' {verb}'}: {cause} ({_ALL})"


def cause_of(text: str, *names: str) -> str:
    """A text with the names of what it is about taken out, the one it begins with first."""
    for name in filter(None, names):
        text = text.removeprefix(f"{name}: ").replace(f": {name}: ", ": ", 1).replace(name, _NAME)
    return text


def cause_lines(problems: Iterable[str], *, verbose: bool = False) -> Iterator[str]:
    """Problems that begin with a name, `one: why`: those with one cause on one line."""
    causes: dict[str, list[tuple[str, str]]] = {}
    for text in problems:
        name = text.partition(": ")[0]
        causes.setdefault(cause_of(text, name), []).append((name, text))
    for cause, some in causes.items():
        if verbose or len(some) == 1:
            yield from (text for _, text in some)
        else:
            more = len(some) - SHOWN_MAX
            names = ", ".join(name for name, _ in some[:SHOWN_MAX])
            yield f"{names}{f' and {more:,} more' if more > 0 else ''}: {cause}"
