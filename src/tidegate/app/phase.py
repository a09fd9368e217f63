"""Which requests mean something in which phase of a partition, as a table.

A request that changes nothing, or says something false afterwards (an abort of what has succeeded
shows "Aborted"), is refused with the phase and with what to use instead: in commands, over HTTP and
in dry runs by this one function. docs/reference/verbs.md has the same table, and a test holds it.
"""

from collections.abc import Callable, Iterator

import msgspec

from tidegate.app.tally import DONE, has_failed
from tidegate.explain.view import PartitionView, TargetRow
from tidegate.journal.facts import Asked, Verb
from tidegate.model.problem import Problem

# Phases that are no state that something is in.
_IN_WORDS = {"Succeeded": "has succeeded", "Failed": "has failed"}
# What has not been tried: waiting, or left out.
_UNTRIED = ("Waiting", *(each for each in DONE if each != "Done"), "Excluded")


class PhaseRule(msgspec.Struct, frozen=True):
    """When a verb means nothing, that phase in words, and what to use instead."""

    verbs: tuple[Verb, ...]
    # Of the request, of what it is about, and of whether it would change what is decided.
    applies: Callable[[Asked, PartitionView, bool], bool]
    phase: str
    instead: str


def meaningless(fact: Asked, view: PartitionView, changes: bool = False) -> Problem | None:
    """Why a request means nothing in this phase, and what to use; None: it means something.

    `changes`: whether something else is decided with it than without it.
    """
    for rule in _RULES:
        if fact.verb in rule.verbs and rule.applies(fact, view, changes):
            words = {
                "name": view.partition,
                "revision": view.revision or "REVISION",
                "phase": _IN_WORDS.get(view.summary, f"is {view.summary.lower()}"),
            }
            return Problem(view.partition, rule.phase.format(**words), rule.instead.format(**words))
    return None


def is_finished(view: PartitionView) -> bool:
    """Whether nothing of a partition is left to do; a pause does not hide it."""
    states = {each.state for each in view.targets}
    over = view.summary == "Paused" and bool(states) and states <= set(DONE)
    return over or view.summary == "Succeeded"


def _about(fact: Asked, view: PartitionView) -> Iterator[TargetRow]:
    names = {each.name for each in view.groups if each.key in fact.groups}
    return (each for each in view.targets if not fact.groups or each.group in names)


def _untried(fact: Asked, view: PartitionView, changes: bool) -> bool:
    over = view.summary in ("Failed", "Aborted")
    return not over and not changes and all(each.state in _UNTRIED for each in _about(fact, view))


def _unfailed(fact: Asked, view: PartitionView, changes: bool) -> bool:
    over = view.summary in ("Failed", "Aborted")
    # What has succeeded would begin again, for a target that is pinned elsewhere, say.
    changes = changes and not is_finished(view)
    return not over and not changes and not any(map(has_failed, _about(fact, view)))


def _answered(fact: Asked, view: PartitionView, _: bool) -> bool:
    """An answer for the revision that is everywhere; a standing one is for those to come."""
    return is_finished(view) and fact.version is not None


_BACK = (
    "to go back, declare the former revision; `tidegate block add {revision}` stops it elsewhere"
)
_RULES = (
    PhaseRule(
        (Verb.PAUSE,),
        lambda _, view, __: view.paused,
        "is paused already",
        "`tidegate resume {name}` continues it",
    ),
    PhaseRule(
        (Verb.RESUME,),
        lambda _, view, __: not view.paused and view.summary in ("Failed", "Aborted"),
        "{phase}, and is not paused",
        "`tidegate retry {name}` begins it again",
    ),
    PhaseRule(
        (Verb.RESUME,),
        lambda _, view, __: not view.paused and view.summary == "Succeeded",
        "{phase}, and is not paused",
        "the next revision starts by itself; `tidegate status` shows what waits",
    ),
    PhaseRule(
        (Verb.RESUME,),
        lambda _, view, __: not view.paused,
        "{phase}, and is not paused",
        "`tidegate why {name}` says what it waits for",
    ),
    PhaseRule(
        (Verb.ABORT,),
        lambda _, view, __: view.summary == "Aborted",
        "is aborted already",
        "`tidegate retry {name}` begins it again",
    ),
    PhaseRule(
        (Verb.ABORT,),
        lambda _, view, __: is_finished(view),
        "has succeeded: nothing of it is left to end",
        _BACK,
    ),
    PhaseRule(
        (Verb.RETRY, Verb.RETRY_FAILED),
        _untried,
        "has not begun: nothing of it was tried",
        "`tidegate why {name}` says what it waits for",
    ),
    PhaseRule(
        (Verb.RETRY_FAILED,),
        _unfailed,
        "{phase}, and nothing of it failed",
        "`tidegate retry {name}` begins it again, with the targets that are done",
    ),
    PhaseRule(
        (Verb.APPROVE,),
        _answered,
        "has succeeded: nothing of it waits for an answer",
        "--standing approves groups for revisions to come",
    ),
    PhaseRule((Verb.REJECT,), _answered, "has succeeded: nothing of it is left to stop", _BACK),
)
