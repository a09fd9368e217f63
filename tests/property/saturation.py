"""How many examples a law takes to reach every branch of `src` that CI's number reaches, measured.

    CI=true python -m pytest -p tests.property.saturation tests/property

runs each law with CI's number and with fewer, and writes those that need fewer into `draws.txt`;
`conftest.py` beside it gives them that many, but for `make sim`. A law with settings of its own was
given its number by hand. Measure again when a law or what it draws changes much; a new law draws
CI's number.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.sim.branches import branches

TABLE = Path(__file__).with_name("draws.txt")
# The fewest are tried first; none draws fewer: what no branch shows may still depend on a value.
FEWER: tuple[int, ...] = (20, 30, 40)


def table() -> dict[str, int]:
    """The number that each law in the table draws, by `FILE::LAW`."""
    lines = TABLE.read_text(encoding="utf-8").splitlines() if TABLE.exists() else []
    return {law: int(number) for number, _, law in (line.partition(" ") for line in lines)}


def name_of(item: pytest.Item) -> str:
    """A law as the table names it, whatever its parameters."""
    return f"{item.path.name}::{getattr(item, 'originalname', None) or item.name}"


def is_law(item: pytest.Item) -> bool:
    """Whether it draws, and no number was chosen for it."""
    law = getattr(item, "obj", None)
    chosen = getattr(law, "_hypothesis_internal_settings_applied", False)
    return getattr(law, "is_hypothesis_test", False) and not chosen


def given_fewer(items: list[pytest.Item]) -> Iterator[tuple[str, int]]:
    """Give the laws of the table their numbers; which they are."""
    known = table()
    for item in items:
        if (number := known.get(name_of(item))) and is_law(item):
            settings(max_examples=number)(item.obj)  # type: ignore[attr-defined]
            yield name_of(item), number


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a law with fewer examples, with all, and with numbers between until one is enough."""
    if not is_law(pyfuncitem):
        return None
    ci = settings().max_examples
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}

    def reached(number: int) -> set[Any]:
        pyfuncitem.obj._hypothesis_internal_use_settings = settings(max_examples=number)
        return branches(lambda: pyfuncitem.obj(**arguments))

    # The fewest first: what a process does once is theirs.
    fewest, every = reached(FEWER[0]), reached(ci)
    enough = FEWER[0] if every <= fewest else ci
    for number in FEWER[1:]:
        if enough == ci and every <= reached(number):
            enough = number
    _write(name_of(pyfuncitem), 0 if enough == ci else enough)
    return True


def _write(law: str, number: int) -> None:
    """One law anew; with parameters, the largest number of any of them. 0: it needs all."""
    known = table()
    before = known.pop(law, 0) if law in _SEEN else number
    known.pop(law, None)
    if number and before:
        known[law] = max(number, before)
    _SEEN.add(law)
    lines = (f"{number} {law}\n" for law, number in sorted(known.items()))
    TABLE.write_text("".join(lines), encoding="utf-8")


_SEEN: set[str] = set()
