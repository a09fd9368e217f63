"""How images move, as a bundle says it: for one place, for an integration, or once for all.

The nearest one counts: that of the place, then the integration's, then the settings'. One that
cannot be read leaves whoever would follow it without any place to run in, instead of without rules.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tidegate.documents.reader import Reader
from tidegate.kinds.integrations.bundle.finding import Fault, Path
from tidegate.kinds.integrations.bundle.leaf import Doc, Leaf
from tidegate.kinds.integrations.bundle.places import Place
from tidegate.kinds.integrations.core.waves.rules import Rules
from tidegate.kinds.integrations.wire.rules_doc import read_rules
from tidegate.model.problem import Problem, Problems

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


class Ruled(msgspec.Struct, frozen=True):
    """What somebody is to follow; unsound: nobody can tell."""

    rules: Rules | None = None
    sound: bool = True


class Rollouts:
    """The rules of a bundle, each read once."""

    def __init__(self, leaves: Mapping[str, Leaf]) -> None:
        self.faults: list[tuple[Place, Fault]] = []
        self._files = {
            f"/{path}": (Place(path), leaf.docs[0])
            for path, leaf in leaves.items()
            if len(leaf.docs) == 1
        }
        self._known: dict[tuple[Place, Path], Ruled] = {}
        self._for_all = Ruled()
        for place, doc in _settings(leaves):
            if (doc.data or {}).get("rollout") is not None:
                self._for_all = self.read(place, doc, ("rollout",))
            elif doc.data is None:
                self._for_all = Ruled(sound=False)

    def of(self, place: Place, doc: Doc, path: Path) -> Ruled:
        """What one entry of `managed` follows."""
        for at in ((*path, "rollout"), ("rollout",)):
            if _at(doc.data, at) is not None:
                return self.read(place, doc, at)
        return self._for_all

    def read(self, place: Place, doc: Doc, path: Path) -> Ruled:
        """The rules that stand at a path, or in the file that is named there."""
        written = _at(doc.data, path)
        if isinstance(written, dict) and "$ref" in written:
            place, doc = self._files.get(str(written["$ref"]), (place, Doc("")))
            if doc.kind != "rollout" or doc.data is None:
                # Told where names of files are looked up, or in that file.
                return Ruled(sound=False)
            path, written = (), doc.data
        if (place, path) not in self._known:
            self._known[place, path] = self._ruled(place, doc, path, written)
        return self._known[place, path]

    def _ruled(self, place: Place, doc: Doc, path: Path, written: Any) -> Ruled:
        problems = Problems()
        rules = read_rules(Reader(written, "", problems), place.where(doc, path))
        self.faults += ((place, fault) for fault in faults_of(problems, path))
        return Ruled(rules, sound=not problems.errors)


def faults_of(problems: Problems, path: Path) -> Iterator[Fault]:
    """What is wrong with a part of a document, as findings at its path."""
    for problem in problems.errors:
        yield _fault(problem, path)
    for problem in problems.warnings:
        yield msgspec.structs.replace(_fault(problem, path), severity="warning")


def _fault(problem: Problem, path: Path) -> Fault:
    steps = (int(at) if at else name for name, at in _STEP.findall(problem.path))
    return Fault(
        path=(*path, *steps), message=problem.message, rule="rollout", remedy=problem.remedy
    )


def _settings(leaves: Mapping[str, Leaf]) -> Iterator[tuple[Place, Doc]]:
    for path, leaf in leaves.items():
        for at, doc in enumerate(leaf.docs):
            if doc.kind == "settings":
                yield Place(path, at), doc


def _at(data: Any, path: Path) -> Any:
    for step in path:
        if isinstance(data, dict):
            data = data.get(str(step))
        else:
            data = data[step] if isinstance(data, list) and isinstance(step, int) else None
    return data
