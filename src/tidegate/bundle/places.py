"""Places in the files of a bundle; a file is read again only when a line of it is needed."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from tidegate.bundle.finding import BundleFinding, DocumentFault, Path, path_text
from tidegate.documents.strict_yaml import YamlDocument, read_documents

if TYPE_CHECKING:
    from tidegate.bundle.leaf import Doc


class DocumentPlace(msgspec.Struct, frozen=True):
    """A document of a file."""

    file: str
    at: int = 0

    def where(self, doc: "Doc", path: Path) -> str:
        """`file:line` of a path, or of what it is in, as noted when the file was read."""
        while path and path_text(path) not in doc.lines:
            path = path[:-1]
        return f"{self.file}:{doc.lines.get(path_text(path), 1)}"


class Places:
    """Documents with their lines."""

    def __init__(self, read: Callable[[str], bytes]) -> None:
        self._read = read
        self._documents: dict[str, list[YamlDocument]] = {}

    def document(self, place: DocumentPlace) -> YamlDocument:
        """A document as it stands in its file."""
        if place.file not in self._documents:
            text = self._read(place.file).decode(errors="replace")
            every = [document for document, _ in read_documents(place.file, text)]
            # Numbered as a leaf numbers them: what is no object is none of its documents.
            kept = [each for each in every if isinstance(each.data, dict)]
            self._documents[place.file] = kept
        documents = self._documents[place.file]
        return documents[place.at] if place.at < len(documents) else YamlDocument("", None, None)

    def found(self, place: DocumentPlace, fault: DocumentFault) -> BundleFinding:
        """A fault with its line."""
        return placed(fault, self.document(place), place.file)


def placed(fault: DocumentFault, document: YamlDocument, file: str = "") -> BundleFinding:
    """A fault with its line."""
    if fault.key is not None:
        line, column = document.position_of_key(fault.path, fault.key)
    else:
        line, column = document.position(fault.path)
    path = fault.path if fault.key is None else (*fault.path, fault.key)
    return BundleFinding(
        file=file,
        line=line,
        column=column,
        severity=fault.severity,
        rule=fault.rule,
        path=path_text(path),
        message=fault.message,
        remedy=fault.remedy,
        value=fault.value,
    )
