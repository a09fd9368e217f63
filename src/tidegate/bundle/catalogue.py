"""Every type of document that some sections list, with the JSON Schemas that check them.

Objects that only Tidegate reads are closed, so that a misspelt field is found; those that other
systems read too may hold more. Documents are checked by jsonschema-rs.
"""

from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tidegate.bundle.finding import DocumentFault
from tidegate.bundle.inventory import INVENTORY, SCHEMAS
from tidegate.bundle.schema_faults import faults_of_error
from tidegate.bundle.section import DocumentType, Sections
from tidegate.model.json_text import decode_json
from tidegate.model.problem import nearest

if TYPE_CHECKING:
    from jsonschema_rs import Draft202012Validator

# Nearer than this, an unknown `$schema` is a misspelt one.
_ALMOST = 0.9


class Catalogue:
    """The types of documents of some sections, and of the inventory."""

    def __init__(self, sections: Sections) -> None:
        listed = (*INVENTORY, *(each for section in sections for each in section.types))
        self.types: dict[str, DocumentType] = {}
        for each in listed:
            known = self.types.get(each.name)
            self.types[each.name] = each if known is None else _merged(known, each)
        self.by_schema = {
            schema: each.name for each in self.types.values() for schema in each.schemas
        }
        # What the text of a file has to hold, by its `$schema`, for the lines of its parts to be
        # kept.
        self.lined = {
            schema: each.lined_with
            for each in self.types.values()
            if each.lined
            for schema in each.schemas
        }
        # How a comment that is kept begins, by the name of the type.
        self.noted = {
            each.name: tuple(f"# {mark}" for mark in each.notes.values())
            for each in self.types.values()
        }
        self.marks = tuple(mark for section in sections for mark in section.marks)
        self._folders = (SCHEMAS, *(section.schemas for section in sections))
        self._documents: dict[str, dict[str, Any]] = {}
        self._validators: dict[str, Draft202012Validator] = {}
        self._names: dict[str, frozenset[str]] = {}
        self._hints: dict[str, str] = {}

    def type_of(self, data: Any) -> str:
        """The type of a document by what it is written as; empty if it is not one of ours."""
        return self.by_schema.get(schema_of(data), "")

    def documents(self) -> dict[str, dict[str, Any]]:
        """Every schema by its identifier."""
        if not self._documents:
            paths = (path for folder in self._folders for path in sorted(folder.glob("*.json")))
            read = (decode_json(path.read_bytes()) for path in paths)
            self._documents = {schema["$id"]: schema for schema in read}
        return self._documents

    def schema(self, name: str) -> dict[str, Any]:
        """The schema of a type: all that its sections ask for."""
        wanted = [{"$ref": key} for key in self.documents() if key.rpartition("/")[2] == name]
        return wanted[0] if len(wanted) == 1 else {"allOf": wanted}

    def validator(self, name: str) -> "Draft202012Validator":
        """The validator for documents of a type."""
        if name not in self._validators:
            # Imported late: a bundle found in the cache needs no validator.
            from jsonschema_rs import Draft202012Validator, Registry

            registry = Registry(list(self.documents().items()))
            self._validators[name] = Draft202012Validator(self.schema(name), registry=registry)
        return self._validators[name]

    def is_valid(self, name: str, data: Any) -> bool:
        """Whether a document keeps to the schema of its type."""
        return self.validator(name).is_valid(data)

    def schema_faults(self, name: str, data: Any) -> list[DocumentFault]:
        """Every part of a document that its schema does not allow."""
        found: list[DocumentFault] = []
        for error in self.validator(name).iter_errors(data):
            found += faults_of_error(error, self.field_names(name))
        return found

    def misspelt(self, data: dict[str, Any]) -> str:
        """Which `$schema` was meant, if the written one is almost one of ours."""
        schema = data.get("$schema")
        if not isinstance(schema, str):
            return ""
        if schema not in self._hints:
            close = get_close_matches(schema, self.by_schema, n=1, cutoff=_ALMOST)
            self._hints[schema] = nearest(schema, close)
        return self._hints[schema]

    def field_names(self, name: str) -> frozenset[str]:
        """Every name of a field anywhere in documents of a type."""
        if name not in self._names:
            self._names[name] = frozenset(self._fields_in(self.schema(name)))
        return self._names[name]

    def _fields_in(self, schema: dict[str, Any]) -> set[str]:
        names: set[str] = set()
        seen: set[str] = {""}

        def walk(node: Any) -> None:
            if isinstance(node, list):
                for each in node:
                    walk(each)
            if not isinstance(node, dict):
                return
            if isinstance(node.get("properties"), dict):
                names.update(node["properties"])
            other = node.get("$ref")
            if isinstance(other, str) and (key := other.partition("#")[0]) not in seen:
                seen.add(key)
                walk(self.documents()[key])
            for each in node.values():
                walk(each)

        walk(schema)
        return names


def schema_of(data: Any) -> str:
    """What a document is written as: `$schema`, or as Kubernetes has it, `v1 ConfigMap`."""
    if not isinstance(data, dict):
        return ""
    if "$schema" not in data:
        return f"{data.get('apiVersion')} {data.get('kind')}" if "apiVersion" in data else ""
    schema = data["$schema"]
    return schema if isinstance(schema, str) else ""


@lru_cache(maxsize=4)
def catalogue(sections: Sections) -> Catalogue:
    """The catalogue of some sections, made once."""
    return Catalogue(sections)


def _merged(one: DocumentType, other: DocumentType) -> DocumentType:
    kept = None
    if one.kept is not None and other.kept is not None:
        kept = tuple(dict.fromkeys((*one.kept, *other.kept)))
    return DocumentType(
        name=one.name,
        noun=one.noun or other.noun,
        schemas=tuple(dict.fromkeys((*one.schemas, *other.schemas))),
        kept=kept,
        links={**one.links, **other.links},
        lined=one.lined or other.lined,
        # Empty sorts first: one section that needs all lines gets them.
        lined_with=min((each.lined_with for each in (one, other) if each.lined), default=""),
        notes={**one.notes, **other.notes},
        check=one.check or other.check,
    )
