"""What one file says, by itself: its documents, the files it names, and what is wrong in it.

That depends on the bytes of the file alone, not on its name or on any other file, so it can be kept
under the file's identity and is read once.
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from tidegate.bundle.catalogue import Catalogue, schema_of
from tidegate.bundle.finding import BundleFinding, DocumentFault, Path, path_text
from tidegate.bundle.places import placed
from tidegate.documents.plain_yaml import DeclinedError, read_plain
from tidegate.documents.strict_yaml import Trap, YamlDocument, lines_of, read_documents
from tidegate.documents.yaml_bounds import DEPTH_MAX
from tidegate.edit.tree import BREAK
from tidegate.model.problem import shown

# No file written by hand is longer, and what is read must have a bound.
BYTES_MAX = 4 << 20
# Values nested in lists and objects without end (through aliases) are followed no further.
STEPS_MAX = 100_000
_SCHEMA_FIELD = "$schema: "


class Doc(msgspec.Struct, frozen=True, gc=False):
    """One document of a file."""

    # The name of its type; empty: not of a type we read.
    kind: str
    # What is kept of it; None: nothing, or it cannot be used.
    data: dict[str, Any] | None = None
    # The files it names, each with the type it must be of (empty: any).
    refs: tuple[tuple[str, str], ...] = ()
    # The lines of what can be pointed at later, by path; only of some types.
    lines: dict[str, int] = {}
    # Comments beside some of its fields, by path.
    notes: dict[str, str] = {}
    # Of one that cannot be used and is lined: all of it, and what is wrong in it. What does not
    # depend on that is still checked, so that not one mistake hides another.
    rejected: dict[str, Any] | None = None
    wrong: tuple[Path, ...] = ()


class Leaf(msgspec.Struct, frozen=True, gc=False):
    """One file."""

    docs: tuple[Doc, ...] = ()
    # With no file in them: the same bytes may stand in several.
    findings: tuple[BundleFinding, ...] = ()
    # Of a file with an error: what sections look for that is in its bytes.
    marks: tuple[str, ...] = ()


encode_leaf = msgspec.msgpack.Encoder().encode
decode_leaf = msgspec.msgpack.Decoder(Leaf).decode


def read_leaf(raw: bytes, catalogue: Catalogue) -> Leaf:
    """Read one file. Nothing in it raises."""
    leaf = _read(raw, catalogue)
    if leaf.findings and any(each.severity == "error" for each in leaf.findings):
        marks = tuple(mark for mark in catalogue.marks if mark.encode() in raw)
        return msgspec.structs.replace(leaf, marks=marks) if marks else leaf
    return leaf


def _read(raw: bytes, catalogue: Catalogue) -> Leaf:
    if len(raw) > BYTES_MAX:
        return _unreadable(f"{len(raw)} bytes", f"split it: {BYTES_MAX} are read at most")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return _unreadable(f"byte {error.start} is no UTF-8", "save the file as UTF-8", line)
    # Where `$schema` seems to be; what it is, is known when the text is read.
    at = text.find(_SCHEMA_FIELD)
    guess = text[at + len(_SCHEMA_FIELD) : text.find("\n", at)] if at >= 0 else ""
    lines: dict[str, int] | None = {} if _is_lined(guess, text, catalogue) else None
    try:
        plain = read_plain(text, lines)
        if lines is None and _is_lined(schema_of(plain.data), text, catalogue):
            lines = {}
            plain = read_plain(text, lines)
    except DeclinedError:
        return _strictly(text, catalogue)
    data = plain.data
    kind = catalogue.type_of(data)
    if kind:
        if not catalogue.is_valid(kind, data):
            return _strictly(text, catalogue)
        check = catalogue.types[kind].check
        if check is not None and check(data):
            return _strictly(text, catalogue)
    elif not _has_schema(data) or catalogue.misspelt(data):
        return _strictly(text, catalogue)
    notes = _notes(text, kind, catalogue, 0)
    return Leaf((_doc(catalogue, kind, data, lines or {}, plain.refs, notes=notes),))


def _is_lined(schema: object, text: str, catalogue: Catalogue) -> bool:
    """Whether the lines of the parts of a document are kept."""
    if not isinstance(schema, str) or schema not in catalogue.lined:
        return False
    return catalogue.lined[schema] in text


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


def _strictly(text: str, catalogue: Catalogue) -> Leaf:
    docs: list[Doc] = []
    findings: list[BundleFinding] = []
    documents = read_documents("", text)
    for at, (document, traps) in enumerate(documents):
        data, kind = document.data, catalogue.type_of(document.data)
        counted = [trap for trap in traps if kind or not trap.lenient]
        found = [_trapped(trap, document) for trap in counted]
        taken = {(each.line, each.column) for each in found}
        every = list(_faults(kind, data, catalogue))
        faults = [placed(fault, document) for fault in every]
        found += (each for each in faults if (each.line, each.column) not in taken)
        findings += found
        if isinstance(data, dict):
            broken = any(each.severity == "error" for each in found)
            lined = bool(kind) and catalogue.types[kind].lined
            lines = lines_of(text)[at] if lined else {}
            notes = {} if broken else _notes(text, kind, catalogue, at)
            doc = _doc(catalogue, kind, data, lines, notes=notes, broken=broken)
            if broken and lined and not counted:
                wrong = tuple(each.path for each in every if each.severity == "error")
                doc = msgspec.structs.replace(doc, lines=lines, rejected=data, wrong=wrong)
            docs.append(doc)
    return Leaf(tuple(docs), tuple(findings))


def _notes(text: str, kind: str, catalogue: Catalogue, at: int) -> dict[str, str]:
    """The marked comments at the ends of lines of one document, by the path of the field there."""
    if not kind or not any(beginning in text for beginning in catalogue.noted[kind]):
        return {}
    marks = catalogue.types[kind].notes
    lines = BREAK.split(text.removeprefix("\ufeff"))
    found: dict[str, str] = {}
    for path, line in lines_of(text)[at].items():
        mark = marks.get(path.rpartition(".")[2]) if "." in path else None
        if mark is None:
            continue
        note = re.search(rf"[ \t]# {re.escape(mark)} (.+?)[ \t]*$", lines[line - 1])
        if note is not None:
            found[path] = note[1]
    return found


def _faults(kind: str, data: Any, catalogue: Catalogue) -> Iterator[DocumentFault]:
    if kind:
        wrong = catalogue.schema_faults(kind, data)
        yield from wrong
        check = catalogue.types[kind].check
        if check is not None:
            reported = {fault.path for fault in wrong if fault.key is None}
            yield from (fault for fault in check(data) if fault.path not in reported)
    elif isinstance(data, dict) and (hint := catalogue.misspelt(data)):
        schema = data.get("$schema")
        yield DocumentFault(
            path=("$schema",),
            message=f"no schema {shown(schema)} is known, so nothing is read from here",
            rule="unread",
            remedy=hint,
            value=shown(schema),
            severity="warning",
        )
    elif isinstance(data, dict) and not _has_schema(data) and "apiVersion" not in data:
        yield DocumentFault(
            path=(),
            message="neither $schema nor apiVersion, so nothing is read from here",
            rule="unread",
            remedy="write $schema, or move the file out of the bundle",
            severity="warning",
        )


def _has_schema(data: dict[str, Any]) -> bool:
    return "$schema" in data


def _doc(
    catalogue: Catalogue,
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
    links = catalogue.types[kind].links if kind else {}
    # Other programs have other uses for `$ref`.
    named = {(ref, links.get(at, "")): None for at, ref in refs if ref[:1] == "/"}
    if not _has_schema(data):
        named = {}
    if broken:
        return Doc(kind, None, tuple(named))
    if not kind:
        name = data.get("name")
        return Doc("", {"name": name} if isinstance(name, str) else None, tuple(named))
    names, lined = catalogue.types[kind].kept, catalogue.types[kind].lined
    kept = data if names is None else {name: data[name] for name in names if name in data}
    return Doc(kind, kept, tuple(named), lines if lined else {}, notes or {})


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


def _trapped(trap: Trap, document: YamlDocument | None = None) -> BundleFinding:
    path = () if document is None else document.path_at(trap.line, trap.column)
    return BundleFinding(
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
