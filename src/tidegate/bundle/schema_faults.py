"""Violations of a JSON Schema as faults, in our words: what is wrong, and what to write instead."""

from typing import TYPE_CHECKING, Any

from tidegate.bundle.finding import DocumentFault, Path
from tidegate.model.problem import nearest, shown

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

_NOUNS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "nothing",
}
# What to write where a pattern or a choice of types says little.
_REMEDIES = {
    "$ref": "write the path of a file from the root of the bundle, like /clusters/a/cluster.yml",
    "shard": "write the name of a shard, its number, or {$ref: /path/of/its/file.yml}",
    "ref": "write a commit of 40 hex digits, or a branch like master",
    "sleepDurationSecs": 'write seconds in quotes, like "300"',
    "uid": "write digits in quotes",
    "name": "write letters, digits and hyphens",
    "schemas": "write paths of schemas, like /aws/account-1.yml",
}


def faults_of_error(error: "ValidationError", field_names: frozenset[str]) -> list[DocumentFault]:
    """The faults that one violation stands for; a field of unknown name is one each."""
    path: Path = tuple(error.instance_path)
    what, wanted, value = error.kind.name, error.kind.value, error.instance
    if what == "additionalProperties":
        return [_unknown(field_names, path, name, value) for name in wanted]
    if what == "required":
        remedy = f"write {wanted}"
        return [
            DocumentFault(path=path, message=f"{wanted} is missing", rule="schema", remedy=remedy)
        ]
    message, remedy = _worded(path, what, wanted, value)
    return [
        DocumentFault(path=path, message=message, rule="schema", remedy=remedy, value=shown(value))
    ]


def _worded(path: Path, what: str, wanted: Any, value: Any) -> tuple[str, str]:
    name = next((step for step in reversed(path) if isinstance(step, str)), "")
    if what == "type":
        nouns = " or ".join(_NOUNS[each] for each in wanted if each != "null")
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if "string" in wanted and (number or isinstance(value, bool)):
            return f"{shown(value)} is not {nouns}", f'quote it: "{_written(value)}"'
        return f"{shown(value)} is not {nouns}", _REMEDIES.get(name, f"write {nouns}")
    if what == "enum":
        choices = [str(each) for each in wanted]
        hint = nearest(str(value), choices) or f"write one of {', '.join(choices)}"
        return f"{shown(value)} is not known here", hint
    if what in ("minLength", "minItems", "minProperties") and not value:
        return f"{shown(value)} is empty", _REMEDIES.get(name, "write something, or drop it")
    if what == "minimum":
        return f"{shown(value)} is below {wanted}", f"write {wanted} or more"
    if what == "maximum":
        return f"{shown(value)} is above {wanted}", f"write {wanted} or less"
    if what == "maxLength":
        return f"{shown(value)} is longer than {wanted} characters", "shorten it"
    if what == "pattern":
        remedy = _REMEDIES.get(name, f"write what matches {wanted}")
        return f"{shown(value)} cannot be used here", remedy
    if what == "minProperties" or what == "maxProperties":
        return f"{shown(value)} has the wrong number of fields", f"write {wanted} of them"
    return f"{shown(value)} cannot be used here", _REMEDIES.get(
        name, "see docs/reference/bundle.md"
    )


def _unknown(field_names: frozenset[str], path: Path, name: str, holder: Any) -> DocumentFault:
    known = field_names - set(holder)
    remedy = nearest(name, known) or "drop it, or see docs/reference/bundle.md for what is known"
    value = shown(holder.get(name))
    message = f"unknown field {shown(name)}"
    return DocumentFault(
        path=path, message=message, rule="schema", remedy=remedy, value=value, key=name
    )


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
