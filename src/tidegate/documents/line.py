"""One JSON line as an object whose fields are decoded when they are read."""

from collections.abc import Mapping
from typing import Any

import msgspec

from tidegate.documents.reader import Reader
from tidegate.model.errors import UserError
from tidegate.model.json_text import json_decoder
from tidegate.model.problem import Problem, Problems, shorten

_decode = json_decoder(dict[str, msgspec.Raw])


def fields_of(line: bytes | Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a line, whether it is still text or not."""
    return parse_line(line) if isinstance(line, bytes) else line


def decoded_fields(line: bytes | Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a line, every one decoded; UserError lists those that cannot be."""
    fields = fields_of(line)
    reader = Reader(fields, "", problems := Problems())
    decoded = {name: reader.raw(name) for name in fields}
    if problems.errors:
        raise UserError(tuple(problems.errors))
    return decoded


def ident_of(raw: bytes) -> Any:
    """The id of a line, if it can be read."""
    try:
        return parse_line(raw).get("id")
    except UserError:
        return None


def parse_line(raw: bytes) -> dict[str, Any]:
    """The fields of a line; UserError if it is not a JSON object. The id is decoded already."""
    try:
        fields: dict[str, Any] = {**_decode(raw)}
    except msgspec.ValidationError:
        value = shorten(raw.decode(errors="replace").strip())
        raise UserError((Problem("", f"{value} is not an object", "write {…}"),)) from None
    except (ValueError, RecursionError) as error:
        what = str(error).removeprefix("JSON is malformed: ")
        raise UserError((Problem("", f"not JSON: {what}", "write one object a line"),)) from None
    if "id" in fields:
        reader = Reader(fields, "", problems := Problems())
        fields["id"] = reader.raw("id")
        if problems.errors:
            raise UserError(tuple(problems.errors))
    return fields
