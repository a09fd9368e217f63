"""All brakes from every source, as one decision needs them.

From the journal (`tidegate hold add`), from files of the bundle, from a file on this disk. What
cannot be read holds everything, and says so: a brake that cannot be read may cover anything.
Calendars are expanded from the first day of a quarter, so that two workers, or one that was
restarted, compute the same spans.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import msgspec

from tidegate.documents.brake_doc import read_brakes
from tidegate.documents.calendar_doc import CalendarRange, stretch_from
from tidegate.documents.reader import Reader
from tidegate.engine.brakes.source import BrakeSource, Written
from tidegate.engine.kind import UnderWay
from tidegate.gates.approval import ApprovalGate
from tidegate.gates.brakes import KEPT, Brakes, Coverages
from tidegate.gates.claims import Claim
from tidegate.gates.hold import Hold
from tidegate.gates.scope import EVERYTHING, kind_of, lift_command
from tidegate.journal.brake_state import FIELDS, PARTITION, BrakeState, fold_brake
from tidegate.journal.chain import Break, follows
from tidegate.journal.fact import Fact
from tidegate.journal.keys import target_of
from tidegate.model.problem import Problems
from tidegate.model.time import SECOND, Duration, Instant
from tidegate.prometheus.port import Probe
from tidegate.store.port import Store

if TYPE_CHECKING:
    from tidegate.engine.brakes.evidence import Gatherer

# Calendars are expanded again this often; they reach much further ahead.
QUARTER = Duration(90 * 24 * 3600 * SECOND)
JOURNAL = "journal"
_KINDS = {field: kind for kind, field in FIELDS.items()}


class BrakeBook:
    """Reads brakes from everywhere, and again only what changed."""

    def __init__(
        self,
        store: Store,
        sources: Sequence[BrakeSource] = (),
        gatherer: "Gatherer | None" = None,
    ) -> None:
        self._store = store
        self._sources = sources
        # None: evidence of health is used as it is written; no source is queried.
        self._gatherer = gatherer
        self._probes: dict[str, Probe] = {}
        self._lock = Lock()
        self._state = BrakeState()
        self._seq, self._hash = 0, b""
        # The chain of brakes is verified once; then each entry as it is read.
        self._verified = False
        self._broken: Break | None = None
        self._written: tuple[Written, ...] = ()
        # Up to which entry and for which quarter the brakes were read; None: not yet.
        self._read_of: tuple[int, int] | None = None
        self._brakes = Brakes()

    def state(self) -> BrakeState:
        """The brakes in the journal, as they were set."""
        with self._lock:
            self._catch_up()
            return self._state

    def supposing(self, facts: Iterable[Fact], at: Instant, actor: str) -> "BrakeBook":
        """A book of its own, as it would be with more facts in the journal."""
        found = BrakeBook(self._store, self._sources)
        with self._lock:
            self._catch_up()
            found._state = BrakeState(on=dict(self._state.on), lifted=set(self._state.lifted))
            found._seq, found._hash = self._seq, self._hash
            found._verified, found._broken = self._verified, self._broken
        for fact in facts:
            fold_brake(found._state, at, fact, actor)
        return found

    def read(self, now: Instant) -> Brakes:
        """All brakes that are on, as of now; no claims yet."""
        with self._lock:
            self._catch_up()
            written = tuple(each for source in self._sources for each in source.read())
            known = len(written) == len(self._written)
            same = known and all(a is b for a, b in zip(written, self._written, strict=True))
            quarter = now // QUARTER
            if not same or self._read_of != (self._seq, quarter):
                stretch = stretch_from(Instant(quarter * QUARTER), QUARTER)
                probes: dict[str, Probe] = {}
                self._brakes = put_together((*self._set(), *written), stretch, probes)
                self._probes = probes
                self._written, self._read_of = written, (self._seq, quarter)
            return self._brakes

    @property
    def has_probes(self) -> bool:
        """Whether evidence of health is asked for."""
        return self._gatherer is not None and (self._read_of is None or bool(self._probes))

    async def gather(
        self,
        revision: str | None,
        since: Instant | None,
        now: Instant,
        wake: Callable[[], None] | None,
    ) -> dict[str, str]:
        """Ask for evidence of health where it is time; why a gate got none, by what it is.

        For a revision that is under way since a moment; None: for none.
        """
        if self._gatherer is None:
            return {}
        if self._read_of is None:
            from asyncio import to_thread  # readers of a journal gather nothing

            await to_thread(self.read, now)
        if not self._probes:
            return {}
        probes = self._probes
        await self._gatherer.fill(self._brakes, probes, revision, since, now, wake)
        found = self._gatherer.troubles(probes, revision, since)
        return {f"health {gate}": why for gate, why in found.items()}

    def binding(self, partition: str, way: UnderWay, brakes: Brakes) -> Brakes:
        """All that may bind a partition, with evidence, claims and what people answered.

        `brakes` are those that `read` returned.
        """
        if self._gatherer is not None:
            brakes = self._gatherer.known(brakes, self._probes, way.revision, way.since)
        claims: tuple[Claim, ...] = ()
        if brakes.budgets or brakes.mutexes or way.frees:
            claims = self._claims_for(way)
        approvals = tuple(_answered(each, way) for each in brakes.approvals)
        return msgspec.structs.replace(
            brakes,
            approvals=approvals,
            claims=claims,
            kind=kind_of(partition),
            partition=partition,
        )

    def seen(self, partition: str, way: UnderWay, now: Instant) -> Brakes:
        """The same for a reader, who does not have the worker's files."""
        return self.binding(partition, way, self._with_recorded(way.brakes, now))

    def _with_recorded(self, recorded: Brakes | None, now: Instant) -> Brakes:
        """All brakes; those of the worker's files are known from what it recorded.

        What the journal of brakes says is as of now; anything else is as it was recorded last.
        """
        brakes = self.read(now)
        if recorded is None:
            return brakes
        ours = self._state.on.keys() | self._state.lifted
        kept: dict[str, Any] = {
            field: tuple(
                each
                for each in getattr(recorded, field)
                if (_KINDS.get(field, field), each.name) not in ours
            )
            for field in KEPT
        }
        names = {field: {each.name for each in some} for field, some in kept.items()}
        for field in KEPT:
            mine = getattr(brakes, field)
            kept[field] += tuple(each for each in mine if each.name not in names[field])
        return Brakes(**kept)

    def coverages(
        self, partition: str, labels: Mapping[str, Mapping[str, str]], now: Instant
    ) -> Coverages:
        """Which brakes cover which targets of a partition, as of now."""
        brakes = msgspec.structs.replace(self.read(now), kind=kind_of(partition))
        return Coverages(brakes, labels)

    def _claims_for(self, way: UnderWay) -> tuple[Claim, ...]:  # noqa: ARG002
        """Every place of a budget or mutex that is taken."""
        return tuple(
            Claim(
                name=each.name,
                target=target_of(each.partition, each.key),
                partition=each.partition,
                key=each.key,
                since=each.at,
                place=each.place,
            )
            for each in self._store.claims()
        )

    def _catch_up(self) -> None:
        if not self._verified:
            self._broken, self._verified = self._store.verify(PARTITION), True
        for entry in self._store.read(PARTITION, after=self._seq):
            if self._hash and self._broken is None:
                self._broken = follows(self._hash, self._seq, entry)
            self._hash = entry.hash
            self._state = fold_brake(self._state, entry.at, entry.fact(), entry.actor)
            self._seq = entry.seq

    def _set(self) -> Iterable[Written]:
        """Each brake of the journal by itself, so that one that cannot be read is named."""
        if self._broken is not None:
            problem = f"its chain is broken: {self._broken.what}"
            yield Written(JOURNAL, problem=problem, lift="repair what `journal verify` shows")
        for kind, name in sorted(self._state.on):
            document = {FIELDS.get(kind, kind): [self._state.on[kind, name].document]}
            lift = lift_command(kind, name)
            yield Written(f"{JOURNAL}: {kind} {name}", document, lift=lift, journal=True)


def _answered(gate: ApprovalGate, way: UnderWay) -> ApprovalGate:
    """An approval gate with what people answered at it, each answer once."""
    said = (*gate.responses, *way.responses.get(gate.name, ()))
    return msgspec.structs.replace(gate, responses=tuple(dict.fromkeys(said)))


def put_together(
    written: Iterable[Written], stretch: CalendarRange, probes: dict[str, Probe] | None = None
) -> Brakes:
    """One set of brakes from many places, and the probes of its health gates."""
    found: dict[str, list[object]] = {field: [] for field in KEPT}
    holds: list[Hold] = []
    for each in written:
        problem = each.problem
        if not problem:
            problems = Problems()
            reader = Reader(each.document, "", problems)
            lift = "" if each.journal else each.lift
            brakes = read_brakes(reader, stretch, each.files, probes, lift)
            if problems.errors:
                problem = problems.errors[0].text()
            else:
                for field in KEPT:
                    found[field] += getattr(brakes, field)
        if problem:
            holds.append(held_by(each.origin, problem, each.lift))
    for field in ("budgets", "mutexes", "approvals", "health"):
        seen: set[str] = set()
        for brake in found[field]:
            name = str(getattr(brake, "name", ""))
            if name in seen:
                twice = "is written in two places; keep one of them"
                holds.append(held_by(f"{field} {name}", twice, "keep one of them"))
            seen.add(name)
    lists = {field: tuple(some) for field, some in found.items()}
    lists["holds"] = (*lists["holds"], *holds)
    return Brakes(**lists)  # type: ignore[arg-type]


def held_by(origin: str, problem: str, lift: str) -> Hold:
    """The hold that stands for brakes that cannot be read."""
    why = f"it cannot be read: {' '.join(problem.split())}"
    return Hold(name=origin, scope=EVERYTHING, owner="tidegate", why=why, lift=lift)
