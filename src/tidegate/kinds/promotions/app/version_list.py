"""Lists which version is in which environment, and which commits are not promoted yet."""

import asyncio
from collections.abc import Iterator

import msgspec

from tidegate.forge.port import Forge
from tidegate.git.history import Ancestry, Commit
from tidegate.kinds.promotions.app.checkout import PromotionCheckout, every_checkout
from tidegate.kinds.promotions.app.documents import (
    PendingChange,
    PendingList,
    Person,
    PromotionList,
    PromotionVersion,
    RequestPart,
)
from tidegate.kinds.promotions.app.ports import PromotionPorts
from tidegate.kinds.promotions.app.survey import HEAD, ArtifactHistory
from tidegate.kinds.promotions.core.backlog import (
    PendingCommit,
    overdue,
    pending_in,
    without_reverted,
)
from tidegate.kinds.promotions.core.model import WrittenVersion
from tidegate.model.errors import TidegateError
from tidegate.model.time import Instant, format_second


async def list_promotions(
    ports: PromotionPorts, forge: Forge | None, name: str | None = None, base: str = ""
) -> PromotionList:
    """Every environment: its version, since when, by which merge request, how far behind.

    Without a forge the merge requests are left out.
    """
    rows, warnings, seen = await asyncio.to_thread(_read_rows, ports, name, base)
    if forge is not None:
        try:
            rows = [await _with_request(forge, row) for row in rows]
        except TidegateError as error:
            warnings.append(f"{error}; merge requests are left out (--no-forge)")
    known = all(row.behind is not None for row in rows)
    return PromotionList(items=tuple(rows), warnings=tuple(warnings), complete=known and seen)


# The version of an environment that has none where it should.
_MISSING = "-"


def _read_rows(
    ports: PromotionPorts, name: str | None, base: str
) -> tuple[list[PromotionVersion], list[str], bool]:
    """The rows, the warnings, and whether every place was found."""
    rows: list[PromotionVersion] = []
    warnings: list[str] = []
    checkouts = every_checkout(ports, name, base)
    for checkout in checkouts:
        rows += _rows(checkout, warnings)
    unseen = [each for checkout in checkouts for each in _unseen(checkout)]
    return rows, [*warnings, *unseen], not unseen


def _rows(checkout: PromotionCheckout, warnings: list[str]) -> Iterator[PromotionVersion]:
    promotion = checkout.promotion
    history = ArtifactHistory(checkout.source, promotion.artifact.branch)
    newest = history.version()
    for environment in promotion.environments:
        name = environment.name
        if environment.follows:
            branch = history.branch if environment.follows == HEAD else environment.follows
            yield PromotionVersion(promotion=promotion.name, environment=name, version=branch)
        written = [each for each in checkout.written.values if each.environment == name]
        if name in checkout.unseen and not written:
            yield PromotionVersion(
                promotion=promotion.name, environment=name, version=_MISSING, behind=None
            )
        for value in dict.fromkeys(each.value for each in written):
            places = tuple(each for each in written if each.value == value)
            yield _row(checkout, history, newest, places, warnings)


def _row(
    checkout: PromotionCheckout,
    history: ArtifactHistory,
    newest: str,
    places: tuple[WrittenVersion, ...],
    warnings: list[str],
) -> PromotionVersion:
    first = places[0]
    behind: int | None = 0
    if first.is_commit:
        found = history.compare(first.value, newest)
        behind = None if found.relation.ancestry is Ancestry.UNKNOWN else len(found.brings)
    if behind is None:
        warnings.append(_unknown(checkout, first))
    changes = [
        checkout.repository.last_change(checkout.base, f"{checkout.root}{each.file}", each.line)
        for each in places
    ]
    since = max(changes, key=lambda each: each.at)
    return PromotionVersion(
        promotion=checkout.promotion.name,
        environment=first.environment,
        version=first.value,
        since=format_second(since.at),
        commit=since.sha,
        author=since.author,
        behind=behind,
        places=tuple(checkout.path(each.file, each.line) for each in places),
    )


async def _with_request(forge: Forge, row: PromotionVersion) -> PromotionVersion:
    """The row with the merge request that brought its version in."""
    found = await forge.of_commit(row.commit) if row.commit else None
    if found is None:
        return row
    request = RequestPart(number=found.number, url=found.url)
    return msgspec.structs.replace(row, merge_request=request)


async def list_pending(
    ports: PromotionPorts,
    *,
    to: tuple[str, ...] = (),
    name: str | None = None,
    base: str = "",
    author: str = "",
    before: Instant | None = None,
) -> PendingList:
    """Commits that are merged and not in every environment.

    `author`: only of authors with this text in their name or address; `before`: only those that
    were merged before that moment.
    """
    return await asyncio.to_thread(_pending, ports, to, name, base, author.lower(), before)


def _pending(
    ports: PromotionPorts,
    to: tuple[str, ...],
    name: str | None,
    base: str,
    author: str,
    before: Instant | None,
) -> PendingList:
    lacks: dict[str, tuple[Commit, ...]] = {}
    warnings: list[str] = []
    checkouts = every_checkout(ports, name, base, to=to)
    for checkout in checkouts:
        # Environments of several promotions may have the same name.
        prefix = f"{checkout.promotion.name}/" if len(checkouts) > 1 else ""
        found = _lacking(checkout, to, warnings)
        lacks |= {f"{prefix}{environment}": some for environment, some in found.items()}
    pending = tuple(each for each in pending_in(lacks) if _is_by(each.commit, author))
    if before is not None:
        pending = overdue(pending, before)
    return PendingList(
        items=tuple(map(_change, pending)),
        environments=tuple(lacks),
        warnings=tuple(warnings),
        complete=not warnings,
    )


def _is_by(commit: Commit, author: str) -> bool:
    return author in commit.author.lower() or author in commit.email.lower()


def _change(each: PendingCommit) -> PendingChange:
    commit = each.commit
    return PendingChange(
        sha=commit.sha,
        at=format_second(commit.at),
        subject=commit.subject,
        author=Person(name=commit.author, email=commit.email),
        missing=each.missing,
    )


def _lacking(
    checkout: PromotionCheckout, to: tuple[str, ...], warnings: list[str]
) -> dict[str, tuple[Commit, ...]]:
    """What each environment lacks of what is merged."""
    history = ArtifactHistory(checkout.source, checkout.promotion.artifact.branch)
    newest = history.version()
    lacks: dict[str, tuple[Commit, ...]] = {}
    warnings += _unseen(checkout, to)
    for written in checkout.written.values:
        if not written.is_commit or (to and written.environment not in to):
            continue
        found = history.compare(written.value, newest)
        if found.relation.ancestry is Ancestry.UNKNOWN:
            warnings.append(_unknown(checkout, written))
        brings = without_reverted(found.brings, history.merged_in)
        lacks[written.environment] = (*lacks.get(written.environment, ()), *brings)
    return lacks


def _unseen(checkout: PromotionCheckout, to: tuple[str, ...] = ()) -> Iterator[str]:
    """Environments that have no version where they should."""
    for name, places in checkout.unseen.items():
        if not to or name in to:
            yield f"{name}: not found: {', '.join(places)}"


def _unknown(checkout: PromotionCheckout, written: WrittenVersion) -> str:
    where = checkout.path(written.file, written.line)
    remedy = "name another with --source, or run `git fetch --unshallow` if it is a shallow clone"
    return f"{where}: {written.value} is not in {checkout.source_address}; {remedy}"
