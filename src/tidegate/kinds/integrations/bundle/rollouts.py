"""How images move, as a bundle says it: for one place, for an integration, or once for all.

The nearest one counts: that of the place, then the integration's, then the settings'. One that
cannot be read leaves its integrations without any place to run in, instead of without rules.
"""

from typing import Any

import msgspec

from tidegate.bundle.finding import Path, faults_of
from tidegate.bundle.leaf import Doc
from tidegate.bundle.places import DocumentPlace
from tidegate.bundle.section import Documents, Faults
from tidegate.documents.reader import Reader
from tidegate.kinds.integrations.core.waves.rules import ImageRules
from tidegate.kinds.integrations.wire.rules_doc import read_rules
from tidegate.model.problem import Problems


class Ruled(msgspec.Struct, frozen=True):
    """The rules to follow; unsound: they are not known."""

    rules: ImageRules | None = None
    sound: bool = True


class RolloutRulesReader:
    """The rules of a bundle, each read once."""

    def __init__(self, documents: Documents) -> None:
        self.faults: Faults = []
        self._files = documents.files
        self._known: dict[tuple[DocumentPlace, Path], Ruled] = {}
        self._for_all = Ruled()
        for place, doc in documents.of("settings"):
            if (doc.data or {}).get("rollout") is not None:
                self._for_all = self.read(place, doc, ("rollout",))
            elif doc.data is None:
                self._for_all = Ruled(sound=False)

    def of(self, place: DocumentPlace, doc: Doc, path: Path) -> Ruled:
        """What one entry of `managed` follows."""
        for at in ((*path, "rollout"), ("rollout",)):
            if _at(doc.data, at) is not None:
                return self.read(place, doc, at)
        return self._for_all

    def read(self, place: DocumentPlace, doc: Doc, path: Path) -> Ruled:
        """The rules that stand at a path, or in the file that is named there."""
        written = _at(doc.data, path)
        if isinstance(written, dict) and "$ref" in written:
            ref = str(written["$ref"])
            place, doc = DocumentPlace(ref[1:]), self._files.get(ref, Doc(""))
            if doc.kind != "rollout" or doc.data is None:
                # Reported where names of files are looked up, or in that file.
                return Ruled(sound=False)
            path, written = (), doc.data
        if (place, path) not in self._known:
            self._known[place, path] = self._ruled(place, doc, path, written)
        return self._known[place, path]

    def _ruled(self, place: DocumentPlace, doc: Doc, path: Path, written: Any) -> Ruled:
        problems = Problems()
        rules = read_rules(Reader(written, "", problems), place.where(doc, path))
        self.faults += ((place, fault) for fault in faults_of(problems, path, "rollout"))
        return Ruled(rules, sound=not problems.errors)


def _at(data: Any, path: Path) -> Any:
    for step in path:
        if isinstance(data, dict):
            data = data.get(str(step))
        else:
            data = data[step] if isinstance(data, list) and isinstance(step, int) else None
    return data
