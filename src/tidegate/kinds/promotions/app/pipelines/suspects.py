"""The suspects of a version that failed: commits and authors since the last good one.

Deploying a version in the middle of the range halves it. That is offered for targets on stage only,
and a person does it: by a commit in the bundle that names the version there.
"""

from tidegate.app.decision import Decision
from tidegate.app.journals import Journals
from tidegate.git.history import Commit
from tidegate.kinds.promotions.app.documents import AuthorPart, author_part
from tidegate.kinds.promotions.app.pipelines.reports import pipelines_of, quarantined_in
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
    # Null: nothing is left to halve, or the failure was not on a publisher.
    bisect: BisectStep | None


def suspect_list(journals: Journals, version: str, name: str | None = None) -> SuspectList:
    """The suspects of a version in the pipeline that quarantined it; NotFoundError if none did."""
    found = pipelines_of(journals)
    mine = [each for each in found if name is None or each.partition.endswith(f"/{name}")]
    for one in mine:
        try:
            failed = quarantined_in(one, version)
        except NotFoundError:
            continue
        return _listed(one, failed)
    known = [each[:7] for one in mine for each in one.state.known.quarantined]
    hint = nearest_or_all(version, known, "none is quarantined")
    raise NotFoundError("quarantined version", version, hint)


def _listed(one: Decision, failed: Quarantine) -> SuspectList:
    known: PipelineKnown = one.state.known
    found, good = suspects_of(known, failed), good_before(known, failed)
    assert known.reading is not None
    commits = () if found is None else found.commits
    whole = found is not None and found.number == len(commits)
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
        bisect=_step(known, failed, commits) if whole else None,
    )


def _step(
    known: PipelineKnown, failed: Quarantine, commits: tuple[Commit, ...]
) -> BisectStep | None:
    """The middle of the range, for publishers; the newest commit is the one that failed."""
    assert known.reading is not None
    publishers = {each.name: each for each in known.reading.publishers}
    if failed.target not in publishers or len(commits) < 2:
        return None
    middle = len(commits) // 2
    return BisectStep(
        version=commits[middle].sha,
        subject=commits[middle].subject,
        targets=(f"{failed.target} ({publishers[failed.target].place.file})",),
        left_if_good=middle,
        left_if_bad=len(commits) - middle,
    )
