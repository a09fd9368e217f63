"""Our schemas mean the same to another validator; and each kind has one."""

import copy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from referencing import Registry, Resource

from tidegate.bundle.catalogue import catalogue
from tidegate.documents.strict_yaml import read_documents
from tidegate.wiring.bundles import bundle_sections

ROOT = Path(__file__).parents[2]
TYPES = catalogue(bundle_sections())
REGISTRY: Any = Registry().with_resources(
    (name, Resource.from_contents(schema)) for name, schema in TYPES.documents().items()
)
EXAMPLES: list[tuple[str, Any]] = [
    (TYPES.by_schema[document.data["$schema"]], document.data)
    for path in sorted((ROOT / "examples" / "app-interface").rglob("*.y*ml"))
    for document, _ in read_documents("", path.read_text("utf-8"))
    if document.data.get("$schema") in TYPES.by_schema
]
JUNK = st.sampled_from([None, True, 1, -1, 1.5, "", "a", [], {}, ["a"], {"$ref": "/a"}, {"a": 1}])


@pytest.mark.parametrize("kind", TYPES.types)
def test_each_type_has_a_schema_that_is_one(kind: str) -> None:
    """It is valid, and says what it is about."""
    found = [s for key, s in TYPES.documents().items() if key.rpartition("/")[2] == kind]
    assert found
    for schema in found:
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
    other = jsonschema.Draft202012Validator(TYPES.schema(kind), registry=REGISTRY)
    assert TYPES.is_valid(kind, document) == other.is_valid(document)
    faults = TYPES.schema_faults(kind, document)
    assert bool(faults) != TYPES.is_valid(kind, document)
    assert all(fault.message and fault.remedy for fault in faults)
