"""Whatever is asked of them in whatever order, the three stores answer alike.

Memory is short enough to be read, so the databases are held against it: the same values, the same
refusals in the same words, and after every step the same journal.
"""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.contract import journals
from tests.contract.journals import folded, note
from tests.sim import sized
from tidegate.journal.lease import Lease, Look
from tidegate.model.time import Duration, Instant
from tidegate.store.archive_port import Archive
from tidegate.store.client.memory import MemoryStore
from tidegate.store.port import Head, TakenPlace

# Each step is some transactions on two real databases: a history takes most of a second.
EXAMPLES = sized(8, 12, 40)
STEPS = 40

NAMES = st.sampled_from(["r1", "r2", "ü"])
HOLDERS = st.sampled_from(["w1", "w2\n{", ""])
KEYS = st.sampled_from(["k1", "k2", "k3"])
CLAIMS = st.builds(
    TakenPlace,
    name=st.sampled_from(["mutex/db", "budget/eu"]),
    place=st.integers(0, 1),
    partition=NAMES,
    key=KEYS,
    at=st.just(Instant(5)),
)
# Before and after what a lease lasts.
MOMENTS = st.integers(0, 300).map(Instant)
# Names as strange as a machine can have.
LOOKS = st.none() | st.builds(
    Look,
    by=st.sampled_from(["w1", "ü\n{", 'a"b']),
    acts=st.booleans(),
    at=st.none() | MOMENTS,
)


class Alike(RuleBasedStateMachine):
    """Three journals that are told the same."""

    def __init__(self, *stores: Archive) -> None:
        super().__init__()
        self.stores = stores
        self.heads: list[Head] = [Head(0, b"x" * 16)]
        self.leases: list[Lease] = []

    def alike(self, ask: Callable[[Archive], Any]) -> Any:
        """Ask all three; they have to say the same."""
        first, *others = [answer(ask, store) for store in self.stores]
        for kind, other in zip(("SQLite", "PostgreSQL"), others, strict=True):
            assert other == first, f"{kind} differs from memory"
        return first[1]

    @rule(
        name=NAMES,
        count=st.integers(0, 4),
        end=st.integers(0, 6),
        token=st.none() | st.integers(0, 4),
        claims=st.lists(CLAIMS, max_size=3),
        frees=st.lists(KEYS, max_size=2),
    )
    def append(
        self,
        name: str,
        count: int,
        end: int,
        token: int | None,
        claims: list[TakenPlace],
        frees: list[str],
    ) -> None:
        """Append, mostly behind some end that was seen before, often with claims."""
        after = self.heads[-end] if 0 < end <= len(self.heads) else None
        batch = [note(n, target=name) for n in range(count)]
        head = self.alike(
            lambda store: store.append(
                name, batch, after=after, token=token, claims=claims, frees=frees
            )
        )
        if isinstance(head, Head):
            self.heads.append(head)

    @rule(name=NAMES, after=st.integers(-1, 30), limit=st.none() | st.integers(-1, 5))
    def read(self, name: str, after: int, limit: int | None) -> None:
        """Read a stretch."""
        self.alike(lambda store: list(store.read(name, after=after, limit=limit)))

    @rule(
        name=NAMES,
        holder=HOLDERS,
        now=MOMENTS,
        term=st.integers(0, 100).map(Duration),
        look=LOOKS,
    )
    def lease(
        self, name: str, holder: str, now: Instant, term: Duration, look: Look | None
    ) -> None:
        """Ask for a lease."""
        lease = self.alike(lambda store: store.lease(name, holder, now, term, look))
        if isinstance(lease, Lease):
            self.leases.append(lease)

    @rule(which=st.integers(1, 5), look=LOOKS)
    def release(self, which: int, look: Look | None) -> None:
        """Give back a lease, perhaps an old one."""
        if which <= len(self.leases):
            self.alike(lambda store: store.release(self.leases[-which], look))

    @rule(name=NAMES, seq=st.integers(-1, 20), state=st.binary(max_size=4))
    def save(self, name: str, seq: int, state: bytes) -> None:
        """Keep a projection."""
        self.alike(lambda store: store.save(name, seq, state))

    @rule(name=NAMES, keep_after=st.integers(-1, 20), token=st.none() | st.integers(0, 3))
    def compact(self, name: str, keep_after: int, token: int | None) -> None:
        """Drop old entries, sometimes more than there are."""
        self.alike(lambda store: store.compact(name, folded(), keep_after=keep_after, token=token))

    @rule()
    def move(self) -> None:
        """Adopt the journal into itself, which is refused unless it is empty."""
        pieces = list(self.stores[0].dump())
        self.alike(lambda store: store.adopt(pieces))

    @invariant()
    def same_journal(self) -> None:
        """After every step the three hold the same, and every chain verifies."""
        self.alike(lambda store: list(store.dump()))
        self.alike(lambda store: [store.load(name) for name in ("r1", "r2", "ü")])
        self.alike(lambda store: list(store.heads().items()))
        self.alike(lambda store: list(store.leases().items()))
        verified = self.alike(lambda store: [store.verify(name) for name in store.partitions()])
        assert not any(verified)

    def teardown(self) -> None:
        """Let go of the file; the server is used again."""
        self.stores[1].close()


def answer(ask: Callable[[Archive], Any], store: Archive) -> tuple[str, Any]:
    """What a store says, or how it refuses."""
    try:
        return "", ask(store)
    except Exception as error:  # noqa: BLE001  whatever it is, the others have to do the same
        return type(error).__name__, str(error)


def test_all_stores_behave_alike(
    postgres: str, template: Path, request: pytest.FixtureRequest
) -> None:
    """Random histories of everything a store can do end alike in memory, a file and a server."""
    folder = Path(tempfile.mkdtemp())
    request.addfinalizer(lambda: shutil.rmtree(folder))
    count = iter(range(10**9))
    server = journals.on_server(postgres)
    on_server = server.open()
    request.addfinalizer(server.close)

    def fresh() -> Alike:
        """Three journals with nothing in them."""
        journals.empty(postgres)
        file = journals.in_file(folder / f"{next(count)}.db", template)
        return Alike(MemoryStore(), file.open(), on_server)

    chosen = settings(max_examples=EXAMPLES, stateful_step_count=STEPS)
    run_state_machine_as_test(fresh, settings=chosen)  # type: ignore[arg-type]  # any maker will do
