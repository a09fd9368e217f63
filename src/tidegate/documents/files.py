"""Documents from files or stdin: YAML read strictly, JSON as it is, problems with their line."""

import errno
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import msgspec

from tidegate.model.errors import UserError
from tidegate.model.json_text import decode_json
from tidegate.model.problem import Problem

if TYPE_CHECKING:
    from tidegate.documents.strict_yaml import YamlDocument

T = TypeVar("T")


def read_as(path: str, read: Callable[[Any], T]) -> "tuple[T, YamlDocument]":
    """What a reader makes of a file (`-`: stdin); problems with their line."""
    document = read_document(path)
    try:
        return read(document.data), document
    except UserError as error:
        raise located(document, error) from None


def is_file(what: str) -> bool:
    """Files have a known ending, or are there; anything else is a name."""
    if what == "-" or what.endswith((".yaml", ".yml", ".json")):
        return True
    return Path(what).exists() and not Path(what).is_dir()


def read_document(path: str) -> "YamlDocument":
    """The one document in a file (`-`: stdin)."""
    # Commands ask for a name or a file: where it is a name, nothing that reads YAML is imported.
    from tidegate.documents.strict_yaml import YamlDocument, read_yaml

    name = "stdin" if path == "-" else path
    raw = _bytes(path)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        problem = Problem("", f"byte {error.start} is no UTF-8", "save the file as UTF-8")
        raise UserError((problem,), where=name) from None
    if text.lstrip().startswith("{"):
        found = _json(raw)
        if found is not None:
            return YamlDocument(name, found, None)
    return read_yaml(name, text)


def files_beside(path: str) -> Callable[[str], str]:
    """Reads the files a document names, seen from where the document stands."""
    folder = Path() if path == "-" else Path(path).parent
    return lambda name: bounded_text(folder / name)


def bounded_text(path: Path) -> str:
    """A text of a file that is not endless; OSError or UnicodeDecodeError: it cannot be read."""
    return bounded_bytes(str(path)).decode("utf-8")


def bounded_bytes(path: str) -> bytes:
    """A file that is not endless (`-`: stdin); OSError: it cannot be read, or is too long."""
    if path == "-":
        return _limited(sys.stdin.buffer, "stdin")
    with Path(path).open("rb") as file:
        return _limited(file, path)


def _bytes(path: str) -> bytes:
    try:
        return bounded_bytes(path)
    except FileNotFoundError:
        raise UserError((Problem("", "no such file"),), where=path) from None
    except IsADirectoryError:
        raise UserError((Problem("", "a directory", "name a file in it"),), where=path) from None
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        problem = Problem("", error.strerror or "", "split it")
        raise UserError((problem,), where=error.filename) from None


def _limited(file: BinaryIO, name: str) -> bytes:
    from tidegate.documents.yaml_bounds import TEXT_BYTES_MAX

    found = file.read(TEXT_BYTES_MAX + 1)
    if len(found) > TEXT_BYTES_MAX:
        raise OSError(errno.EFBIG, f"longer than {TEXT_BYTES_MAX} bytes", name)
    return found


def _json(raw: bytes) -> Any:
    try:
        return decode_json(raw)
    except msgspec.DecodeError:
        return None


def located(document: "YamlDocument", error: UserError) -> UserError:
    """The same problems, each with the line of the file it stands on."""
    return UserError(document.located(error.problems))
