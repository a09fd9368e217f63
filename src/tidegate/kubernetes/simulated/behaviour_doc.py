"""Behaviour documents: what simulated pods do, by the tag of their image and by shard.

    defaults: {readyAfter: 20s, every: 5m, takes: 40s}
    rules:
      - {tag: superdangerous, shards: [app-sre-stage], fails: {from: 2, log: ["AccessDenied …"]}}
      - {tag: "broken-*", start: crash-loop}

Every rule whose tag, integration, shard, cluster and workload fit counts, a later one over an
earlier one, field by field. Names may have `*` and `?`.
"""

import enum
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from tidegate.documents.reader import Reader
from tidegate.model.errors import UserError
from tidegate.model.problem import Problems
from tidegate.model.time import SECOND, Duration


class ContainerPurpose(enum.Enum):
    """How a container runs: for good, or once, as in a dry run of a new image."""

    LOOP = "loop"
    JOB = "job"


class ContainerStart(enum.Enum):
    """What happens to a container once it is started."""

    READY = "ready"
    NEVER_READY = "never-ready"
    CRASH_LOOP = "crash-loop"
    NO_IMAGE = "no-image"


class ContainerBehaviour(msgspec.Struct, frozen=True):
    """What one container does."""

    start: ContainerStart = ContainerStart.READY
    ready_after: Duration = Duration(20 * SECOND)
    # How long it takes to stop when it is asked to; its grace period at most.
    stops_after: Duration = Duration(5 * SECOND)
    # Between the end of a run and the next; None: as long as its own variables say.
    every: Duration | None = None
    takes: Duration = Duration(40 * SECOND)
    log: tuple[str, ...] = ("reconciling", "nothing to do")
    # The first run that fails, and the first that does not any more; None: none does, and for good.
    fails_from: int | None = None
    fails_until: int | None = None
    exit_code: int = 1
    fail_log: tuple[str, ...] = ("ERROR: the run failed",)

    def fails(self, run: int) -> bool:
        """Whether a run fails; the first is run 1."""
        if self.fails_from is None or run < self.fails_from:
            return False
        return self.fails_until is None or run < self.fails_until


class BehaviourRule(msgspec.Struct, frozen=True):
    """Containers, and the fields of their behaviour that are given."""

    says: dict[str, Any]
    tag: str = "*"
    integration: str = "*"
    shards: tuple[str, ...] = ("*",)
    clusters: tuple[str, ...] = ("*",)
    # None: however it runs.
    workload: ContainerPurpose | None = None

    def fits(
        self, tag: str, integration: str, shard: str, cluster: str, workload: ContainerPurpose
    ) -> bool:
        """Whether it is about one of these."""
        return (
            self.workload in (None, workload)
            and fnmatchcase(tag, self.tag)
            and fnmatchcase(integration, self.integration)
            and any(fnmatchcase(shard, each) for each in self.shards)
            and any(fnmatchcase(cluster, each) for each in self.clusters)
        )


class Behaviour(msgspec.Struct, frozen=True):
    """What all pods do."""

    defaults: ContainerBehaviour = ContainerBehaviour()
    rules: tuple[BehaviourRule, ...] = ()

    def of(
        self,
        tag: str,
        integration: str = "",
        shard: str = "",
        cluster: str = "",
        workload: ContainerPurpose = ContainerPurpose.LOOP,
    ) -> ContainerBehaviour:
        """What one container does."""
        says: dict[str, Any] = {}
        for rule in self.rules:
            if rule.fits(tag, integration, shard, cluster, workload):
                says |= rule.says
        return msgspec.structs.replace(self.defaults, **says)


def read_behaviour(document: object) -> Behaviour:
    """Read a behaviour; UserError lists everything that is wrong with it."""
    problems = Problems()
    reader = Reader(document, "", problems)
    defaults = reader.child("defaults")
    manner = msgspec.structs.replace(ContainerBehaviour(), **_says(defaults))
    defaults.close()
    rules = tuple(_rule(each) for each in reader.children("rules"))
    reader.close()
    if problems.errors:
        raise UserError(tuple(problems.errors))
    return Behaviour(manner, rules)


def _rule(reader: Reader) -> BehaviourRule:
    rule = BehaviourRule(
        says=_says(reader),
        tag=reader.text("tag") or "*",
        integration=reader.text("integration") or "*",
        shards=tuple(reader.texts("shards")) or ("*",),
        clusters=tuple(reader.texts("clusters")) or ("*",),
        workload=(
            reader.choice("workload", ContainerPurpose, ContainerPurpose.LOOP)
            if reader.has("workload")
            else None
        ),
    )
    reader.close()
    return rule


def _says(reader: Reader) -> dict[str, Any]:
    """The fields of a manner that are written; what is not is left as it is."""
    fails = reader.child("fails")
    found = {
        "start": reader.choice("start", ContainerStart, ContainerStart.READY)
        if reader.has("start")
        else None,
        "ready_after": reader.duration("readyAfter"),
        "stops_after": reader.duration("stopsAfter"),
        "every": reader.duration("every"),
        "takes": reader.duration("takes"),
        "log": tuple(reader.texts("log")) or None,
        "fails_from": _run(fails, "from") or (1 if reader.has("fails") else None),
        "fails_until": _run(fails, "until"),
        "exit_code": fails.whole("exit"),
        "fail_log": tuple(fails.texts("log")) or None,
    }
    fails.close()
    return {name: value for name, value in found.items() if value is not None}


def _run(reader: Reader, name: str) -> int | None:
    number = reader.whole(name)
    if number == 0:
        reader.problems.add(reader.at(name), "there is no run 0", "count from 1")
    return number
