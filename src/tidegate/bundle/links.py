"""Files that are named in other files: each must be there, and be what is asked for."""

from collections.abc import Iterator, Mapping
from posixpath import basename, dirname

from tidegate.bundle.catalogue import Catalogue
from tidegate.bundle.finding import DocumentFault
from tidegate.bundle.leaf import Leaf, refs_in
from tidegate.bundle.places import DocumentPlace, Places
from tidegate.model.problem import nearest, shown

# Past so many, hints cost more than they help: something else is wrong.
HINTS_MAX = 50
_ANYTHING = "something else"


def link_faults(
    leaves: Mapping[str, Leaf], places: Places, catalogue: Catalogue
) -> Iterator[tuple[DocumentPlace, DocumentFault]]:
    """Every name of a file that does not exist, or is of the wrong type."""
    hints = _Hints(leaves)
    kinds = {f"/{path}": _kind(leaf) for path, leaf in leaves.items()}
    wrong: dict[tuple[str, str], tuple[str, str]] = {}
    for path, leaf in leaves.items():
        for at, doc in enumerate(leaf.docs):
            for ref, kind in doc.refs:
                found = kinds.get(ref)
                if found is not None and (not kind or found in (kind, None, "?")):
                    continue
                if (ref, kind) not in wrong:
                    wrong[ref, kind] = (
                        (f"no file {shown(ref)}", hints.nearest(ref, kind))
                        if found is None
                        else _other(ref, found, kind, hints, catalogue)
                    )
                yield from _standing(DocumentPlace(path, at), ref, wrong[ref, kind], places)


def _kind(leaf: Leaf) -> str:
    """What a file is; `?` where that is not known because of errors in it."""
    if len(leaf.docs) == 1:
        return leaf.docs[0].kind or _ANYTHING
    return "?" if any(each.severity == "error" for each in leaf.findings) else _ANYTHING


def _other(
    ref: str, found: str, wanted: str, hints: "_Hints", catalogue: Catalogue
) -> tuple[str, str]:
    types = catalogue.types
    noun = types[found].noun if found in types else "no document we read"
    message = f"{shown(ref)} is {noun}, not {types[wanted].noun}"
    return message, hints.nearest(ref, wanted) or f"name {types[wanted].noun}"


def _standing(
    place: DocumentPlace, ref: str, said: tuple[str, str], places: Places
) -> Iterator[tuple[DocumentPlace, DocumentFault]]:
    """The same fault everywhere in a document the name stands."""
    message, remedy = said
    for path, each in refs_in(places.document(place).data):
        if each == ref:
            fault = DocumentFault(
                path=path, message=message, rule="reference", remedy=remedy, value=shown(ref)
            )
            yield place, fault


class _Hints:
    """The file that was probably meant."""

    def __init__(self, leaves: Mapping[str, Leaf]) -> None:
        self._leaves = leaves
        self._left = HINTS_MAX

    def nearest(self, ref: str, kind: str = "") -> str:
        """Among files of the same name or folder first: of those people mistype one part."""
        if self._left == 0:
            return "write the path of a file of the bundle"
        self._left -= 1
        folder, name = dirname(ref), basename(ref)
        every = [
            f"/{path}" for path, leaf in self._leaves.items() if not kind or _kind(leaf) == kind
        ]
        beside = [each for each in every if dirname(each) == folder or basename(each) == name]
        return nearest(ref, beside) or nearest(ref, every) or "write the path of a file"
