"""The API described by its own types, as OpenAPI 3.1 has it."""

from collections.abc import Sequence
from typing import Any

import msgspec

from tidegate.api.problem import MEDIA_TYPE, ProblemDocument
from tidegate.api.route import ActRoute, QuestionRoute, RouteQuery

_REF = "#/components/schemas/{name}"
_JSON = "application/json"
_DESCRIPTION = """\
Everything that the command line can ask and do, for people and programs with roles. An answer is
the document that the command prints with `-o json`; an error is the text that it prints, as RFC
9457 has it. The ETag of an answer names the plan that it shows; a write names that plan with
If-Match."""


def openapi(
    questions: Sequence[QuestionRoute], acts: Sequence[ActRoute], base: str, version: str
) -> dict[str, Any]:
    """The description of all routes."""
    types: list[Any] = [ProblemDocument]
    types += [each for question in questions for each in (*question.answer, question.query)]
    types += [each for act in acts for each in (*act.answer, act.body)]
    unique = list(dict.fromkeys(types))
    references, components = msgspec.json.schema_components(unique, ref_template=_REF)
    schemas = dict(zip(unique, references, strict=True))
    paths: dict[str, Any] = {}
    for question in questions:
        paths.setdefault(base + question.path, {})["get"] = _get(question, schemas, components)
    for act in acts:
        paths.setdefault(base + act.path, {})["post"] = _post(act, schemas)
    paths[f"{base}/watch/{{name}}"] = {"get": _stream(_WATCH, named=True)}
    paths[f"{base}/changes"] = {"get": _stream(_CHANGES, named=False)}
    for query in {question.query for question in questions}:
        components.pop(query.__name__, None)  # they are parameters, and no schemas
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tidegate", "version": version, "description": _DESCRIPTION},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {"Problem": _problem(schemas)},
        },
        "security": [{"token": []}],
    }


_WATCH = "The entries of a rollout behind Last-Event-ID, or from now on, as they are written"
_CHANGES = "Which rollouts changed, for a page; it begins with `reset`: read everything once"


def _stream(summary: str, *, named: bool) -> dict[str, Any]:
    last = _parameter(
        "Last-Event-ID", "header", "The last entry that was read.", {"type": "string"}
    )
    events = {"text/event-stream": {"schema": {"type": "string"}}}
    problem = {"$ref": "#/components/responses/Problem"}
    codes = ["400", "401", "403", "404", "410", "429", "503"] if named else ["401", "403", "429"]
    return {
        "operationId": "watchNamed" if named else "watchChanges",
        "summary": summary,
        "parameters": [*_path(named), *([last] if named else [])],
        "responses": {
            "200": {"description": "Events.", "content": events},
            **dict.fromkeys(codes, problem),
        },
    }


def _get(
    question: QuestionRoute, schemas: dict[Any, Any], components: dict[str, Any]
) -> dict[str, Any]:
    parameters = [*_path(question.named), *_parameters(question.query, components)]
    return {
        "operationId": f"get{_camel(question.path)}",
        "summary": question.summary,
        "parameters": parameters,
        "responses": _responses(question.answer, schemas, planned=False)
        | {"304": {"description": "Nothing changed since the ETag that If-None-Match names."}},
    }


def _post(act: ActRoute, schemas: dict[Any, Any]) -> dict[str, Any]:
    needs = "" if act.stops else " It is required here: something may start."
    match = "The ETag of the plan it was decided on, or *." + needs
    key = "Carried out once under one key; asked for again, it is answered alike."
    parameters = [
        *_path(act.named),
        _parameter("If-Match", "header", match, {"type": "string"}),
        _parameter("Idempotency-Key", "header", key, {"type": "string", "maxLength": 200}),
        _parameter(
            "dryRun", "query", "Record nothing: what starts, what waits.", {"type": "boolean"}
        ),
    ]
    return {
        "operationId": f"do{_camel(act.path)}",
        "summary": act.summary,
        "parameters": parameters,
        "requestBody": {"required": True, "content": {_JSON: {"schema": schemas[act.body]}}},
        "responses": _responses(act.answer, schemas, planned=True),
    }


def _responses(
    answer: tuple[type, ...], schemas: dict[Any, Any], *, planned: bool
) -> dict[str, Any]:
    every = [schemas[each] for each in answer]
    schema = every[0] if len(every) == 1 else {"oneOf": every}
    etag = {"ETag": {"description": "The plan it shows.", "schema": {"type": "string"}}}
    good = {"description": "Done.", "content": {_JSON: {"schema": schema}}, "headers": etag}
    problem = {"$ref": "#/components/responses/Problem"}
    codes = ["400", "401", "403", "404", "422", "429", "503"]
    codes += ["409", "412", "413", "415", "428"] if planned else []
    return {"200": good, **dict.fromkeys(sorted(codes), problem)}


def _problem(schemas: dict[Any, Any]) -> dict[str, Any]:
    content = {MEDIA_TYPE: {"schema": schemas[ProblemDocument]}}
    return {"description": "Why it was not answered.", "content": content}


def _path(named: bool) -> list[dict[str, Any]]:
    if not named:
        return []
    schema = {"type": "string", "minLength": 1}
    return [{"name": "name", "in": "path", "required": True, "schema": schema}]


def _parameters(query: type[RouteQuery], components: dict[str, Any]) -> list[dict[str, Any]]:
    known = components.get(query.__name__, {})
    needed = known.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in needed, "schema": schema}
        for name, schema in known.get("properties", {}).items()
    ]


def _parameter(name: str, where: str, text: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": where, "required": False, "description": text, "schema": schema}


def _camel(path: str) -> str:
    words = path.replace("{name}", "").replace("/", "-").split("-")
    plain = "".join(each.capitalize() for each in words if each)
    return f"{plain}Named" if path.endswith("{name}") else plain
