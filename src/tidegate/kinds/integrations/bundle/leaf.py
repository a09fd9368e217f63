"""What one file says, by itself: its documents, the files it names, and what is wrong in it.

That depends on the bytes of the file alone, not on its name or on any other file, so it can be kept
under the file's identity and never be asked again.
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

import msgspec

from tidegate.documents.plain_yaml import DeclinedError, read_plain
from tidegate.documents.strict_yaml import DEPTH_MAX, Document, Trap, lines_of, read_documents
from tidegate.edit.tree import BREAK
from tidegate.kinds.integrations.bundle.amounts import value_faults
from tidegate.kinds.integrations.bundle.finding import Fault, Finding, Path, path_text
from tidegate.kinds.integrations.bundle.schemas import KIND_OF, KINDS, is_valid, schema_faults
from tidegate.kinds.integrations.core.review.notes import MARK
from tidegate.model.problem import nearest, shown

# Nobody writes more by hand, and what is read must have a bound.
BYTES_MAX = 4 << 20
# Values nested in lists and objects without end (through aliases) are followed no further.
STEPS_MAX = 100_000
# Nearer than this, an unknown `$schema` is a misspelt one.
_ALMOST = 0.9
_HASH = f"# {MARK}"
_NOTE = re.compile(rf"[ \t]{_HASH} (.+?)[ \t]*$")
# Kinds of documents whose lines are kept, and what their text says of it.
_LINED = {
    "integration": "/integration-1",
    "settings": "/app-interface-settings-1",
    "rollout": "/tidegate/rollout-1",
    "ocm-organization": "/openshift-cluster-manager-1",
}


class Doc(msgspec.Struct, frozen=True, gc=False):
    """One document of a file."""

    # Empty: not of a kind we read.
    kind: str
    # What is kept of it; None: nothing, or it cannot be used.
    data: dict[str, Any] | None = None
    # The files it names, each with the kind it must be of (empty: any).
    refs: tuple[tuple[str, str], ...] = ()
    # The lines of what can be pointed at later, by path; only of some kinds.
    lines: dict[str, int] = {}
    # What is noted beside images of its own, by path.
    notes: dict[str, str] = {}


class Leaf(msgspec.Struct, frozen=True, gc=False):
    """One file."""

    docs: tuple[Doc, ...] = ()
    # With no file in them: the same bytes may stand in several.
    findings: tuple[Finding, ...] = ()


encode_leaf = msgspec.msgpack.Encoder().encode
decode_leaf = msgspec.msgpack.Decoder(Leaf).decode


def read_leaf(raw: bytes) -> Leaf:
    """Read one file. Nothing in it raises."""
    if len(raw) > BYTES_MAX:
        return _unreadable(f"{len(raw)} bytes", f"split it: {BYTES_MAX} are read at most")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return _unreadable(f"byte {error.start} is no UTF-8", "save the file as UTF-8", line)
    # Where the parts of some documents stand is asked for later.
    lines: dict[str, int] | None = {} if any(word in text for word in _LINED.values()) else None
    try:
        plain = read_plain(text, lines)
    except DeclinedError:
        return _strictly(text)
    data = plain.data
    kind = kind_of(data)
    if kind and not is_valid(kind, data):
        return _strictly(text)
    if kind == "integration" and value_faults(data):
        return _strictly(text)
    if not kind and (not _has_schema(data) or _misspelt(data)):
        return _strictly(text)
    # Those in values of one line, or in comments, are only seen by looking everywhere.
    seen = plain.refs if len(plain.refs) == text.count("$ref") else None
    notes = _notes(text)[0] if kind == "integration" and _HASH in text else {}
    return Leaf((_doc(kind, data, lines or {}, seen, notes=notes),))


def kind_of(data: Any) -> str:
    """The kind of a document by what it writes under `$schema`; empty if it is not one of ours."""
    schema = data.get("$schema") if isinstance(data, dict) else None
    return KIND_OF.get(schema, "") if isinstance(schema, str) else ""


def schemas_in(raw: bytes) -> frozenset[str]:
    """What the documents of a file write under `$schema`; none where it cannot be read."""
    try:
        text = raw[:BYTES_MAX].decode()
    except UnicodeDecodeError:
        return frozenset()
    try:
        every: list[Any] = [read_plain(text, None).data]
    except DeclinedError:
        every = [document.data for document, _ in read_documents("", text)]
    written = (each.get("$schema") for each in every if isinstance(each, dict))
    return frozenset(each for each in written if isinstance(each, str))


def _strictly(text: str) -> Leaf:
    docs: list[Doc] = []
    findings: list[Finding] = []
    documents = read_documents("", text)
    for at, (document, traps) in enumerate(documents):
        data, kind = document.data, kind_of(document.data)
        counted = [trap for trap in traps if kind or not trap.lenient]
        told = [_trapped(trap, document) for trap in counted]
        taken = {(each.line, each.column) for each in told}
        faults = [placed(fault, document) for fault in _faults(kind, data)]
        told += (each for each in faults if (each.line, each.column) not in taken)
        findings += told
        if isinstance(data, dict):
            broken = any(each.severity == "error" for each in told)
            lines = lines_of(text)[at] if kind in _LINED and not broken else {}
            noted = kind == "integration" and _HASH in text and not broken
            notes = _notes(text)[at] if noted else {}
            docs.append(_doc(kind, data, lines, notes=notes, broken=broken))
    return Leaf(tuple(docs), tuple(findings))


def _notes(text: str) -> list[dict[str, str]]:
    """What is noted at the end of the line of each `imageRef`, document by document."""
    lines = BREAK.split(text.removeprefix("\ufeff"))
    return [
        {
            path: found[1]
            for path, line in each.items()
            if path.endswith(".imageRef") and (found := _NOTE.search(lines[line - 1]))
        }
        for each in lines_of(text)
    ]


def _faults(kind: str, data: Any) -> Iterator[Fault]:
    if kind:
        wrong = schema_faults(kind, data)
        yield from wrong
        if kind == "integration":
            told = {fault.path for fault in wrong if fault.key is None}
            yield from (fault for fault in value_faults(data) if fault.path not in told)
    elif isinstance(data, dict) and (hint := _misspelt(data)):
        schema = data.get("$schema")
        yield Fault(
            path=("$schema",),
            message=f"no schema {shown(schema)} is known, so nothing is read from here",
            rule="unread",
            remedy=hint,
            value=shown(schema),
            severity="warning",
        )
    elif isinstance(data, dict) and not _has_schema(data) and "apiVersion" not in data:
        yield Fault(
            path=(),
            message="neither $schema nor apiVersion, so nothing is read from here",
            rule="unread",
            remedy="write $schema, or move the file out of the bundle",
            severity="warning",
        )


def _has_schema(data: dict[str, Any]) -> bool:
    return "$schema" in data


def _misspelt(data: dict[str, Any]) -> str:
    """Which schema was meant, if one was."""
    schema = data.get("$schema")
    return _almost(schema) if isinstance(schema, str) else ""


@lru_cache(maxsize=1024)
def _almost(schema: str) -> str:
    return nearest(schema, get_close_matches(schema, KIND_OF, n=1, cutoff=_ALMOST))


def _doc(
    kind: str,
    data: dict[str, Any],
    lines: dict[str, int],
    refs: list[tuple[str, str]] | None = None,
    *,
    notes: dict[str, str] | None = None,
    broken: bool = False,
) -> Doc:
    if refs is None:
        refs = []
        _note_refs(data, refs, "", 0)
    links = KINDS[kind].links if kind else {}
    # Other programs have other uses for `$ref`.
    named = {(ref, links.get(at, "")): None for at, ref in refs if ref[:1] == "/"}
    if not _has_schema(data):
        named = {}
    if broken:
        return Doc(kind, None, tuple(named))
    if not kind:
        name = data.get("name")
        return Doc("", {"name": name} if isinstance(name, str) else None, tuple(named))
    names = KINDS[kind].kept
    kept = data if names is None else {name: data[name] for name in names if name in data}
    return Doc(kind, kept, tuple(named), lines if kind in _LINED else {}, notes or {})


def _note_refs(node: Any, into: list[tuple[str, str]], at: str, depth: int) -> None:
    """The values of all fields `$ref` by the names of the fields around them."""
    if depth > DEPTH_MAX:
        return
    if node.__class__ is list:
        for value in node:
            if value.__class__ is dict or value.__class__ is list:
                _note_refs(value, into, at, depth + 1)
        return
    for name, value in node.items():
        if value.__class__ is dict or value.__class__ is list:
            _note_refs(value, into, f"{at}.{name}" if at else name, depth + 1)
        elif name == "$ref" and value.__class__ is str:
            into.append((at, value))


def refs_in(data: Any) -> Iterator[tuple[Path, str]]:
    """Every file a document names, and where."""
    waiting: list[tuple[Path, Any]] = [((), data)]
    for _ in range(STEPS_MAX):
        if not waiting:
            return
        path, node = waiting.pop()
        if node.__class__ is dict:
            for name, value in node.items():
                if value.__class__ is dict or value.__class__ is list:
                    waiting.append(((*path, name), value))
                elif name == "$ref" and isinstance(value, str) and value.startswith("/"):
                    yield (*path, name), value
        else:
            waiting.extend(
                ((*path, at), value)
                for at, value in enumerate(node)
                if value.__class__ is dict or value.__class__ is list
            )


def placed(fault: Fault, document: Document, file: str = "") -> Finding:
    """A fault with its line."""
    if fault.key is not None:
        line, column = document.position_of_key(fault.path, fault.key)
    else:
        line, column = document.position(fault.path)
    path = fault.path if fault.key is None else (*fault.path, fault.key)
    return Finding(
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


def _trapped(trap: Trap, document: Document | None = None) -> Finding:
    path = () if document is None else document.path_at(trap.line, trap.column)
    return Finding(
        file="",
        line=trap.line,
        column=trap.column,
        severity="error",
        rule="yaml",
        path=path_text(path),
        message=trap.message,
        remedy=trap.remedy,
        value=shown(trap.value) if trap.value else "",
    )


def _unreadable(message: str, remedy: str, line: int = 1) -> Leaf:
    trap = Trap(line=line, column=1, message=message, remedy=remedy)
    return Leaf((), (_trapped(trap),))
