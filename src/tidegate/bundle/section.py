"""A section: what one kind reads of a bundle, and how it turns documents into its own values.

The bundle itself knows files, documents, names of files and schemas, and no kind. The list of
sections comes from outside. A type of document that several sections list is one type: each lists
the fields that it reads, and brings a schema for them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import merge
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from tidegate.bundle.finding import BundleFinding, DocumentFault
from tidegate.bundle.places import DocumentPlace

if TYPE_CHECKING:
    from tidegate.bundle.leaf import Doc, Leaf

T = TypeVar("T")
Faults = list[tuple[DocumentPlace, DocumentFault]]


class DocumentType(msgspec.Struct, frozen=True, kw_only=True):
    """One type of document."""

    name: str
    # Empty: another section says it.
    noun: str = ""
    # What documents of this type write under `$schema`, or their `apiVersion kind`; empty: another
    # section says it.
    schemas: tuple[str, ...] = ()
    # The fields that are kept of it; None: all of them.
    kept: tuple[str, ...] | None = None
    # Which type the files must be of that a field names.
    links: dict[str, str] = {}
    # Whether the lines of its parts are kept, so that they can be shown later.
    lined: bool = False
    # Only of files that hold this text; empty: of all.
    lined_with: str = ""
    # Fields beside which a comment is kept that starts with a mark.
    notes: dict[str, str] = {}
    # What a schema cannot express: faults in the values of a document.
    check: Callable[[Mapping[str, Any]], list[DocumentFault]] | None = None


class Documents:
    """Every document of a bundle, by file."""

    def __init__(self, leaves: Mapping[str, "Leaf"], types: Mapping[str, DocumentType]) -> None:
        self.leaves = leaves
        self.types = types
        # The only document of each file that has one, by the name that other files use for it.
        self.files: dict[str, Doc] = {
            f"/{path}": leaf.docs[0] for path, leaf in leaves.items() if len(leaf.docs) == 1
        }
        # Documents of each type with their numbers, in the order of the files.
        self._by_type: dict[str, list[tuple[int, str, int, Doc]]] = {}
        number = 0
        for path, leaf in leaves.items():
            for at, doc in enumerate(leaf.docs):
                number += 1
                self._by_type.setdefault(doc.kind, []).append((number, path, at, doc))

    def of(self, *types: str) -> Iterator[tuple[DocumentPlace, "Doc"]]:
        """Every document of some types, and its place; also those that cannot be used."""
        found = [self._by_type.get(each, []) for each in dict.fromkeys(types)]
        # No two have one number, so nothing else is compared.
        for _, path, at, doc in found[0] if len(found) == 1 else merge(*found):
            yield DocumentPlace(path, at), doc

    def data(self, reference: Mapping[str, Any]) -> dict[str, Any]:
        """What the file says that `{$ref: …}` names; empty if there is no such file."""
        doc = self.files.get(str(reference.get("$ref")))
        return (doc.data if doc is not None else None) or {}


def _unchanged(value: T, _documents: "Documents", _findings: Sequence[BundleFinding]) -> T:
    return value


@dataclass(frozen=True, eq=False, kw_only=True)
class BundleSection(Generic[T]):
    """One reader of documents. `read` gets all documents, and adds the faults that it finds."""

    name: str
    types: tuple[DocumentType, ...]
    # The folder with the JSON Schemas of its types.
    schemas: FilePath
    # Words that a file may hold which it depends on: where such a file cannot be read, it knows.
    marks: tuple[str, ...] = ()
    # What its findings are about: a word that people can search for, and a sentence.
    rules: Mapping[str, str] = field(default_factory=dict)
    # The type of its value; values are kept in the cache.
    value: type[T]
    read: Callable[["Documents", Faults], T]
    # Completes the value once the findings of all sections are known.
    finish: Callable[[T, "Documents", Sequence[BundleFinding]], T] = _unchanged
    # Files and folders of the programs that work out the value; part of the cache's key.
    programs: tuple[FilePath, ...]

    def of(self, bundle: "Bundle") -> T:
        """The value that this section read of a bundle."""
        value = bundle.parts[self.name]
        assert isinstance(value, self.value)
        return value


Sections = tuple[BundleSection[Any], ...]


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """What a bundle declares, and what is wrong with it."""

    findings: tuple[BundleFinding, ...]
    # How many documents of each type there are; those of unknown types are under "".
    kinds: dict[str, int]
    files: int
    # The value of each section, by the section's name.
    parts: dict[str, Any]

    @property
    def errors(self) -> int:
        """How many findings are errors."""
        return sum(each.severity == "error" for each in self.findings)
