"""What a change does to integrations: the shards it affects, and the result of trying each."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from tidegate.bundle.finding import BundleFinding
from tidegate.edit.edit import read_original
from tidegate.edit.place import LinePlace
from tidegate.edit.prefixed import find_lines
from tidegate.kinds.integrations.app.check.comparison import RevisionComparison, Side
from tidegate.kinds.integrations.app.check.runs import CheckResult
from tidegate.kinds.integrations.bundle.section import INTEGRATIONS
from tidegate.kinds.integrations.core.review.affected import (
    Affected,
    Case,
    CheckedSide,
    affected_by,
    without_data,
)
from tidegate.kinds.integrations.core.review.fault import CheckFault
from tidegate.model.document import Document, Part
from tidegate.model.errors import NotFoundError, UserError
from tidegate.model.problem import nearest_or_all

ENV_FILE = ".env"
TAG_LINE = LinePlace("export RECONCILE_IMAGE_TAG=")
# Where the log of a case is.
LogPath = Callable[[Case], str]


class CheckScope(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of what is affected is tried; nothing named means everything."""

    integrations: tuple[str, ...] = ()
    environments: tuple[str, ...] = ()

    def takes(self, integration: str, environment: str) -> bool:
        """Whether a shard is in it."""
        return (not self.integrations or integration in self.integrations) and (
            not self.environments or environment in self.environments
        )


class CheckedRun(Part, frozen=True, kw_only=True):
    """One affected shard; the fields of its result are there once it was run."""

    integration: str
    shard: str
    environment: str
    # The images by their whole names, and as people call them; null: there was no such shard.
    image: str
    before: str | None
    revision: str
    revision_before: str | None
    arguments: str | tuple[str, ...]
    why: tuple[str, ...]
    result: str | UnsetType = UNSET
    words: str | UnsetType = UNSET
    log: str | UnsetType | None = UNSET
    tries: int | UnsetType = UNSET
    exit_code: int | UnsetType | None = UNSET
    new_lines: tuple[str, ...] | UnsetType = UNSET
    gone_lines: tuple[str, ...] | UnsetType = UNSET


class SkippedRun(Part, frozen=True, kw_only=True):
    """A shard that is affected and not run, and why."""

    integration: str
    shard: str
    environment: str
    why: str


class CheckReport(Document, frozen=True, kw_only=True, tag="Check"):
    """What `check` answers."""

    base: str | None
    head: str | None
    findings: tuple[BundleFinding, ...]
    mixed: tuple[str, ...]
    runs: tuple[CheckedRun, ...]
    skipped: tuple[SkippedRun, ...]
    # What is not known and stops nothing.
    warnings: tuple[str, ...]
    # The result in a sentence.
    summary: str
    # By whose fault: 0 fine, 1 the change, 70 the setup, 75 to be tried again.
    exit_code: int


# As sysexits.h has them: a fault of ours, and one that may be gone next time.
CHANGE_FAULT, OUR_FAULT, TRY_AGAIN = 1, 70, 75
NOTHING_AFFECTED = "no integration is affected"
_BLAME = {
    CHANGE_FAULT: "it is the change",
    OUR_FAULT: "it is not the change: the runner could not run it",
    TRY_AGAIN: "it may not be the change: try again",
}


def affected_in(
    comparison: RevisionComparison, scope: CheckScope, *, on_clusters: bool
) -> Affected:
    """The shards a change affects; on clusters, those that need the data of the bundle are skipped.

    NotFoundError if an integration of the scope does not exist; UserError if the `.env` file of
    the head cannot be read: which image is tried depends on it.
    """
    known = [each.name for each in INTEGRATIONS.of(comparison.head.bundle).integrations]
    for name in scope.integrations:
        if name not in known:
            raise NotFoundError("integration", name, nearest_or_all(name, known))
    old, new = comparison.root_file(ENV_FILE)
    base, head = _view(comparison.base, _tag_before(old)), _view(comparison.head, tag_in(new))
    found = affected_by(base, head, comparison.effects, comparison.changed_schemas)
    cases = (each for each in found.cases if scope.takes(each.integration, each.environment))
    skipped = (each for each in found.skipped if scope.takes(each.integration, each.environment))
    chosen = Affected(tuple(cases), tuple(skipped))
    return without_data(chosen) if on_clusters else chosen


def tag_in(env_file: bytes | None) -> str:
    """The tag an `.env` file gives to all who name no image; empty: it gives none.

    UserError if it cannot be read. As in a shell, the last line counts.
    """
    if env_file is None:
        return ""
    lines = find_lines(ENV_FILE, read_original(ENV_FILE, env_file).text, TAG_LINE)
    return lines[-1].value if lines else ""


def _tag_before(env_file: bytes | None) -> str:
    """The tag before the change; a file that a change may be there to fix gives none."""
    try:
        return tag_in(env_file)
    except UserError:
        return ""


def _view(side: Side, tag: str) -> CheckedSide:
    declared = INTEGRATIONS.of(side.bundle)
    return CheckedSide(
        estate=side.estate,
        integrations=declared.integrations,
        inventories=declared.inventories,
        tag=tag,
    )


def check_report(
    comparison: RevisionComparison,
    affected: Affected,
    results: Sequence[CheckResult] | None = None,
    log: LogPath | None = None,
) -> CheckReport:
    """A check as people and programs read it; without results, what would be run."""
    by_case = {id(each.case): each for each in results or ()}
    code, words = _outcome(comparison, results)
    return CheckReport(
        base=comparison.base.commit,
        head=comparison.head.commit,
        findings=comparison.new_findings,
        mixed=_mixed(comparison),
        runs=tuple(_run(case, by_case.get(id(case)), log) for case in affected.cases),
        skipped=tuple(SkippedRun(**msgspec.structs.asdict(each)) for each in affected.skipped),
        warnings=tuple(_warnings(comparison)),
        summary=words,
        exit_code=code,
    )


def is_refused(comparison: RevisionComparison) -> bool:
    """Whether nothing is run until the change itself is fixed."""
    return bool(comparison.new_errors or _mixed(comparison))


def _mixed(comparison: RevisionComparison) -> tuple[str, ...]:
    """Versions that must not move at once and do, or why that is not known."""
    trouble = comparison.mixed_trouble
    return (*comparison.mixed, trouble) if trouble else comparison.mixed


def _outcome(
    comparison: RevisionComparison, results: Sequence[CheckResult] | None
) -> tuple[int, str]:
    """The exit code, and the result in a sentence."""
    if comparison.new_errors:
        return CHANGE_FAULT, "new errors in the bundle"
    if comparison.mixed:
        return CHANGE_FAULT, "schemas and images move at once"
    if comparison.mixed_trouble:
        return CHANGE_FAULT, "whether schemas and images move at once is not known"
    if results is None:
        return 0, NOTHING_AFFECTED
    code = exit_code(results)
    counts = Counter(each.judgement.fault for each in results)
    stated = ", ".join(f"{counts[each]:,} {each.value}" for each in CheckFault if counts[each])
    blame = f"; {_BLAME[code]}" if code else ""
    return code, f"{len(results):,} tried: {stated}{blame}"


def exit_code(results: Sequence[CheckResult]) -> int:
    """By whose fault: the author of the change first, then the setup, then none."""
    faults = {each.judgement.fault for each in results}
    if CheckFault.CHANGE in faults:
        return CHANGE_FAULT
    if CheckFault.OURS in faults:
        return OUR_FAULT
    return TRY_AGAIN if faults & {CheckFault.FLAKE, CheckFault.OUTSIDE} else 0


def _warnings(comparison: RevisionComparison) -> Iterator[str]:
    yield from (each.text() for each in comparison.head.troubles)
    if comparison.effects.unknown:
        what = "workloads are not known to be there any more: the bundle has errors"
        yield f"{comparison.effects.unknown} {what}"


def _run(case: Case, result: CheckResult | None, log: LogPath | None) -> CheckedRun:
    run = CheckedRun(
        integration=case.integration,
        shard=case.shard,
        environment=case.environment,
        image=case.head.image,
        before=case.base.image if case.base is not None else None,
        revision=case.head.revision,
        revision_before=case.base.revision if case.base is not None else None,
        arguments=case.head.arguments,
        why=tuple(case.why),
    )
    if result is None:
        return run
    judgement = result.judgement
    return msgspec.structs.replace(
        run,
        result=judgement.fault.name.lower(),
        words=judgement.words,
        log=log(case) if log is not None else None,
        tries=len(result.head),
        exit_code=result.head[-1].code,
        new_lines=tuple(judgement.difference.added),
        gone_lines=tuple(judgement.difference.gone),
    )
