"""Our schemas mean the same to another validator; and each kind has one."""

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from referencing import Registry, Resource

from tidegate.documents.strict_yaml import read_documents
from tidegate.kinds.integrations.bundle.schemas import (
    FOLDER,
    KINDS,
    documents,
    is_valid,
    schema_faults,
)

ROOT = Path(__file__).parents[2]
REGISTRY: Any = Registry().with_resources(
    (name, Resource.from_contents(schema)) for name, schema in documents().items()
)
KIND_BY_SCHEMA = {schema: kind.name for kind in KINDS.values() for schema in kind.schemas}
EXAMPLES: list[tuple[str, Any]] = [
    (KIND_BY_SCHEMA[document.data["$schema"]], document.data)
    for path in sorted((ROOT / "examples" / "app-interface").rglob("*.y*ml"))
    for document, _ in read_documents("", path.read_text("utf-8"))
    if document.data.get("$schema") in KIND_BY_SCHEMA
]
JUNK = st.sampled_from([None, True, 1, -1, 1.5, "", "a", [], {}, ["a"], {"$ref": "/a"}, {"a": 1}])


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_a_schema_that_is_one(kind: str) -> None:
    """It is valid, and says what it is about."""
    schema = json.loads((FOLDER / f"{kind}.json").read_bytes())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"]


def paths_in(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = node.items() if isinstance(node, dict) else enumerate(node)
    found = []
    for step, value in list(pairs):
        found.append((*path, step))
        if isinstance(value, dict | list):
            found += paths_in(value, (*path, step))
    return found


@settings(max_examples=200)
@given(st.sampled_from(EXAMPLES), st.data())
def test_another_validator_gives_the_same_verdict(
    example: tuple[str, Any], data: st.DataObject
) -> None:
    """Of a document in which a value was replaced, taken out or added."""
    kind, document = example[0], copy.deepcopy(example[1])
    *parents, last = data.draw(st.sampled_from(paths_in(document)))
    holder = document
    for step in parents:
        holder = holder[step]
    if data.draw(st.booleans()):
        holder[last] = data.draw(JUNK)
    elif isinstance(holder, dict):
        del holder[last]
        holder["unknown"] = 1
    other = jsonschema.Draft202012Validator({"$ref": f"tidegate:/{kind}"}, registry=REGISTRY)
    assert is_valid(kind, document) == other.is_valid(document)
    faults = schema_faults(kind, document)
    assert bool(faults) != is_valid(kind, document)
    assert all(fault.message and fault.remedy for fault in faults)
