"""A document: what a question answers or an act reports, with a name and a version.

`-o json` of a command and the answer of the API are the same document of the same type: functions
of the application return documents, the command line and the API only encode them.

    {"kind": "ShardList", "apiVersion": "tidegate.dev/v1", "items": [...]}

The kind is the name of the class. Names of fields are public. A field may be added; one is removed
or changes its meaning only with a new version. Moments are texts as RFC 3339 has them.
"""

from typing import Any

import msgspec

from tidegate.model.time import Instant, format_instant

API_VERSION = "tidegate.dev/v1"


class Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """What documents are made of: a row, a verdict, a count."""


class Document(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="kind", tag=str
):
    """What a program gets; every subclass is listed in docs/reference/documents.md."""

    api_version: str = API_VERSION


def instant_text(at: Instant | None) -> str | None:
    """A moment as documents have it; None: there is none."""
    return None if at is None else format_instant(at)


def fields_of(part: msgspec.Struct) -> dict[str, Any]:
    """The fields of a part as they are, for a document that has the same."""
    return {name: getattr(part, name) for name in part.__struct_fields__}
