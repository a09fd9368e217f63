"""What vendors say their interfaces take and answer (`schemas/`), and whether that is so.

An answer of the forge for tests is made of what matters here; the rest of what its vendor promises
is filled in by form, and the whole is held against the vendor's description.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

SCHEMAS = Path(__file__).parent / "schemas"
_PLAIN = {"string": "", "integer": 0, "number": 0, "boolean": False, "array": []}
_MOMENT = "2026-01-01T00:00:00Z"


class Described:
    """The operations of a vendor."""

    def __init__(self, vendor: str) -> None:
        told = json.loads((SCHEMAS / f"{vendor}.json").read_text(encoding="utf-8"))
        self._operations: dict[str, Any] = told["operations"]
        self._defs: dict[str, Any] = told["$defs"]
        # Programs in Go write null for what is not there, and describe it as if it were.
        self._null_is_absent = vendor == "gitea"

    def answer(self, operation: str, status: int, given: Any) -> Any:
        """A whole answer with what is given in it; AssertionError if it is none."""
        told = self._operations[operation]
        assert status == told["status"], f"{operation} answers {told['status']}, not {status}"
        if not told["response"]:
            return given
        whole = self._filled(told["response"], given)
        self._hold(told["response"], whole, f"the answer to {operation}")
        return whole

    def check(self, operation: str, query: set[str], body: Any) -> None:
        """AssertionError if a request is not as it is described."""
        told = self._operations[operation]
        odd = query - set(told["query"])
        assert not odd, f"{operation} takes no {odd}"
        if body is not None:
            form = self._resolved(told["request"])
            odd = set(body) - set(form.get("properties", body))
            assert not odd, f"the body of {operation} has no {odd}"
            self._hold(told["request"], body, f"the body of {operation}")

    def _hold(self, form: Any, value: Any, what: str) -> None:
        if self._null_is_absent:
            value = _without_null(value)
        for error in self._validator(json.dumps(form)).iter_errors(value):
            raise AssertionError(f"{what}: {error.instance_path}: {error.message}")

    @cache  # noqa: B019 (as long as the tests run)
    def _validator(self, form: str) -> jsonschema_rs.Draft202012Validator:
        return jsonschema_rs.Draft202012Validator({**json.loads(form), "$defs": self._defs})

    def _resolved(self, form: Any) -> Any:
        while "$ref" in form:
            form = self._defs[form["$ref"].rpartition("/")[2]]
        return form

    def _filled(self, form: Any, given: Any) -> Any:
        form = self._resolved(form)
        for many in ("allOf", "anyOf", "oneOf"):
            if many in form:
                return self._filled(form[many][0], given)
        if isinstance(given, list) and "items" in form:
            return [self._filled(form["items"], each) for each in given]
        if isinstance(given, dict) and "properties" in form:
            more = {
                name: self._filled(each, given[name]) if name in given else self._empty(each)
                for name, each in form["properties"].items()
            }
            return {**given, **more}
        return given

    def _empty(self, form: Any) -> Any:
        form = self._resolved(form)
        for many in ("allOf", "anyOf", "oneOf"):
            if many in form:
                return self._empty(form[many][0])
        kinds = form.get("type", "object")
        if isinstance(kinds, list):
            return None
        if "enum" in form:
            return form["enum"][0]
        if kinds == "object":
            return None if self._null_is_absent else self._filled(form, {})
        return _MOMENT if form.get("format") == "date-time" else _PLAIN[kinds]


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_null(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_null(each) for each in value]
    return value
