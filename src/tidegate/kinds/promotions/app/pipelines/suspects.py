"""The suspects of a version that failed: commits and authors since the last good one.

Deploying a version in the middle of the range halves it. That is offered on stage only, and a
person confirms each step (`bisect.py`); what came of it is shown here.
"""

from tidegate.app.partitions.decision import Decision
from tidegate.app.partitions.journals import Journals
from tidegate.git.history import Commit
from tidegate.kinds.promotions.app.documents import AuthorPart, author_part
from tidegate.kinds.promotions.app.pipelines.reports import pipelines_of, quarantined_in
from tidegate.kinds.promotions.core.channels.bisection import (
    Bisection,
    BisectTry,
    next_try,
    off_stage,
    suspects_left,
)
from tidegate.kinds.promotions.core.channels.explain.suspects import (
    authors_in,
    good_before,
    suspects_of,
)
from tidegate.kinds.promotions.core.channels.journal.state import PipelineKnown
from tidegate.kinds.promotions.core.channels.model import Quarantine
from tidegate.model.document import Document, Part
from tidegate.model.errors import NotFoundError
from tidegate.model.problem import nearest_or_all
from tidegate.model.time import format_second


class BisectStep(Part, frozen=True, kw_only=True):
    """The version to deploy next, so that the range is halved."""

    version: str
    subject: str
    # Publishers that can be given it: where they are written.
    targets: tuple[str, ...]
    # How many suspects are left if it is good, and if it fails.
    left_if_good: int
    left_if_bad: int


class BisectTryPart(Part, frozen=True, kw_only=True):
    """A version that a person let on stage, and how it went."""

    version: str
    at: str
    by: str
    # Null: it was not seen to be deployed yet.
    good: bool | None


class SuspectList(Document, frozen=True, kw_only=True):
    """Which commits may have broken a version."""

    pipeline: str
    version: str
    failed_on: str
    failed_at: str
    why: str
    # The last version that was good; null: none is known.
    good: str | None
    # How many commits lie between; null: not known.
    number: int | None
    authors: tuple[AuthorPart, ...]
    role: str
    # Null: nothing is left to halve, or `refused` says why nothing is tried.
    bisect: BisectStep | None
    # Why no version is tried; null: one may be, or the search is over.
    refused: str | None = None
    tries: tuple[BisectTryPart, ...] = ()
    # How many suspects no try has cleared; null: not known.
    left: int | None = None
    # The only suspect that is left once something was tried; null: there are several.
    culprit: str | None = None


def suspect_list(journals: Journals, version: str, name: str | None = None) -> SuspectList:
    """The suspects of a version in the pipeline that quarantined it; NotFoundError if none did."""
    return _listed(*quarantine_of(journals, version, name))


def quarantine_of(
    journals: Journals, version: str, name: str | None = None
) -> tuple[Decision, Quarantine]:
    """The pipeline that quarantined a version, and the quarantine."""
    found = pipelines_of(journals)
    mine = [each for each in found if name is None or each.partition.endswith(f"/{name}")]
    for one in mine:
        try:
            failed = quarantined_in(one, version)
        except NotFoundError:
            continue
        return one, failed
    known = [each[:7] for one in mine for each in one.state.known.quarantined]
    hint = nearest_or_all(version, known)
    raise NotFoundError("quarantined version", version, hint)


def _listed(one: Decision, failed: Quarantine) -> SuspectList:
    known: PipelineKnown = one.state.known
    found, good = suspects_of(known, failed), good_before(known, failed)
    assert known.reading is not None
    one_search = bisection_of(known, failed.version)
    tries = () if one_search is None else one_search.tries
    whole = found is not None and found.number == len(found.commits)
    left = suspects_left(found.commits, tries) if found is not None and whole else ()
    refused = _refusal(known, failed, left, whole=whole)
    return SuspectList(
        pipeline=one.partition,
        version=failed.version,
        failed_on=failed.target,
        failed_at=format_second(failed.at),
        why=failed.why,
        good=good or None,
        number=None if found is None else found.number,
        authors=() if found is None else tuple(map(author_part, authors_in(found))),
        role=known.reading.pipeline.quarantine_role,
        bisect=None if refused else _step(known, failed, left, one_search),
        refused=refused or None,
        tries=tuple(map(_try_part, tries)),
        left=len(left) if whole else None,
        culprit=left[0].sha if whole and tries and len(left) == 1 else None,
    )


def bisection_of(known: PipelineKnown, version: str) -> Bisection | None:
    """The search for what broke a version; None: nothing was tried."""
    return known.bisections.get(version)


def _try_part(each: BisectTry) -> BisectTryPart:
    return BisectTryPart(
        version=each.version, at=format_second(each.at), by=each.by, good=each.good
    )


def _refusal(
    known: PipelineKnown, failed: Quarantine, left: tuple[Commit, ...], *, whole: bool
) -> str:
    """Why no version is tried; empty: one may be, or a single suspect is left."""
    assert known.reading is not None
    if why := off_stage(known.reading, failed.target):
        return f"versions are tried on stage only: {why}"
    if not whole:
        return "not every commit since the last good version is known"
    if len(left) > 1 and next_try(left, _untried(known)) is None:
        return f"each of the {len(left)} suspects is blocked or quarantined"
    return ""


def _untried(known: PipelineKnown) -> frozenset[str]:
    """Versions that are deployed nowhere on purpose: blocked, or failed elsewhere."""
    assert known.reading is not None
    return frozenset(known.quarantined) | {each.version for each in known.reading.blocked}


def _step(
    known: PipelineKnown,
    failed: Quarantine,
    left: tuple[Commit, ...],
    search: Bisection | None,
) -> BisectStep | None:
    """The try that has no result yet, or else the middle of what is left."""
    assert known.reading is not None
    place = next(e.place for e in known.reading.publishers if e.name == failed.target)
    pending = None if search is None else search.pending
    refused = _untried(known)
    waits = pending is not None and pending.version not in refused
    at = _position(left, pending.version) if pending is not None and waits else None
    found = next_try(left, refused) if at is None else (at, left[at])
    if found is None:
        return None
    middle, commit = found
    return BisectStep(
        version=commit.sha,
        subject=commit.subject,
        targets=(f"{failed.target} ({place.file})",),
        left_if_good=middle,
        left_if_bad=len(left) - middle,
    )


def _position(left: tuple[Commit, ...], version: str) -> int | None:
    return next((at for at, one in enumerate(left) if one.sha == version), None)
