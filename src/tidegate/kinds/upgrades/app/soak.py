"""What versions have soaked, exported, imported and published, in the predecessor's form."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from tidegate.engine.brakes.book import BrakeBook
from tidegate.journal.chain import JournalNote
from tidegate.kinds.upgrades.app.read.journal import PREFIX, UpgradeJournal
from tidegate.kinds.upgrades.core.journal.facts import Imported
from tidegate.kinds.upgrades.core.journal.state import soak_doc
from tidegate.kinds.upgrades.core.rules.soak import DAY, SoakLedger
from tidegate.kinds.upgrades.wire.state import check_ledger, read_ledger, write_ledger
from tidegate.machine.clock import Clock
from tidegate.model.counted import counted
from tidegate.model.document import Document, Part
from tidegate.model.errors import NotFoundError, UserError
from tidegate.model.problem import Problem, nearest_or_all
from tidegate.model.time import Instant
from tidegate.store.port import Store

_DEPTH = 2  # prod/o-payments; anything behind that is an add-on


class SoakSummary(Part, frozen=True, kw_only=True):
    """How much has soaked in one `env/org`, or `env/org/addon`."""

    key: str
    versions: int
    days: float


class SoakExport(Document, frozen=True, kw_only=True):
    """What versions have soaked."""

    items: tuple[SoakSummary, ...]
    # In the form in which the predecessor keeps it, by key.
    documents: Mapping[str, Any]


class SoakImport(Document, frozen=True, kw_only=True):
    """What was imported, or would be."""

    items: tuple[SoakSummary, ...]
    dry_run: bool


class ImportedSoak(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be imported: documents by key, where they come from, and why."""

    documents: Mapping[str, Any]
    origin: str
    reason: str
    # Whether to replace what has soaked here already.
    replace: bool = False


def recorded_upgrades(store: Store) -> UpgradeJournal:
    """What is recorded of every organisation."""
    return UpgradeJournal(store, BrakeBook(store))


def export_soak(journal: UpgradeJournal, orgs: Sequence[str], now: Instant) -> SoakExport:
    """What has soaked in some organisations (`env/org`), or in all, and by add-on."""
    known = [each.removeprefix(PREFIX) for each in journal.partitions()]
    for each in orgs:
        if each not in known:
            hint = nearest_or_all(each, known, "none yet")
            raise NotFoundError("organisation", each, hint)
    wanted = [each for each in known if not orgs or each in orgs]
    found = {name: one for key in wanted for name, one in journal.soak(key).items()}
    return SoakExport(
        items=tuple(_summary(key, each) for key, each in found.items()),
        documents={key: write_ledger(each, now) for key, each in found.items()},
    )


def plan_soak_import(store: Store, wanted: ImportedSoak) -> SoakImport:
    """What an import would bring; UserError if something has soaked here already."""
    journal = recorded_upgrades(store)
    found: list[SoakSummary] = []
    for key, document in wanted.documents.items():
        here = journal.soak(owner_of(key)[0]).get(key, SoakLedger())
        if here.days and not wanted.replace:
            known = _summary(key, here)
            what = f"{soak_text(known)} already"
            remedy = "write --replace to put what is in the file in its place"
            raise UserError((Problem(key, what, remedy),))
        found.append(_summary(key, read_ledger(document)))
    return SoakImport(items=tuple(found), dry_run=True)


def import_soak(store: Store, wanted: ImportedSoak, now: Instant, by: str) -> SoakImport:
    """Record what was kept elsewhere, with who imported it and why."""
    planned = plan_soak_import(store, wanted)
    for key, document in wanted.documents.items():
        own, addon = owner_of(key)
        fact = Imported(
            soak=soak_doc(read_ledger(document)),
            addon=addon,
            origin=wanted.origin,
            reason=wanted.reason,
        )
        store.append(f"{PREFIX}{own}", [JournalNote(now, by, fact)])
    return msgspec.structs.replace(planned, dry_run=False)


def check_soak(documents: Mapping[str, Any], where: str, *, named: bool) -> None:
    """UserError lists every document that cannot be imported; `named`: keys come from a file."""
    problems = [
        problem
        for key, value in documents.items()
        for problem in _problems(where, key, value, named)
    ]
    if problems:
        raise UserError(tuple(problems))


def _problems(where: str, key: str, value: Any, named: bool) -> list[Problem]:
    parts = key.split("/")
    if len(parts) < _DEPTH or not all(parts):
        remedy = "write --org ENV/ORG for a document of one organisation" if named else ""
        return [Problem(f"{where}: {key}", "not an environment and organisation", remedy)]
    wrong = check_ledger(value)
    return [Problem(f"{where}: {key}", wrong, "name what was exported")] if wrong else []


def owner_of(key: str) -> tuple[str, str]:
    """The organisation a document is of, and the add-on; empty: it is of clusters."""
    parts = key.split("/")
    return "/".join(parts[:_DEPTH]), "/".join(parts[_DEPTH:])


def soak_text(one: SoakSummary) -> str:
    """How much has soaked, in words."""
    return f"{counted(one.versions, 'version')}, {one.days:.2f} days"


def _summary(key: str, ledger: SoakLedger) -> SoakSummary:
    versions = {version for version, _ in ledger.days}
    return SoakSummary(key=key, versions=len(versions), days=sum(ledger.days.values()) / DAY)


def published(store: Store, clock: Clock) -> Callable[[str], dict[str, Any]]:
    """The soak of one `env/org` and of those that publish theirs to it, or with an empty key of all
    of them, for the HTTP API.
    """

    def read(key: str) -> dict[str, Any]:
        journal = recorded_upgrades(store)
        keys = [each.removeprefix(PREFIX) for each in journal.partitions()]
        mine = [each for each in keys if key in ("", each)]
        if key and mine:
            mine += [each for each in journal.inherited(key) if each in keys]
        kept = {name: one for each in mine for name, one in journal.soak(each).items()}
        at = clock.now()
        return {name: write_ledger(one, at) for name, one in kept.items()}

    return read
