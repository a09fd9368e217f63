"""Templates and static files: read once from the package, known by their hashes."""

from functools import cache
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

import minijinja
import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tidegate.model.time import format_age, format_second, parse_instant
from tidegate.page.words import LOOKS, WORDS

_HERE = Path(__file__).parent
# A name with its hash never changes; without it, a browser asks again and gets 304.
_KEPT = "public, max-age=31536000, immutable"
_ASKED = "no-cache"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class StaticFile(msgspec.Struct, frozen=True):
    """A file as it is served."""

    body: bytes
    media_type: str
    digest: str


@cache
def static_file(name: str) -> StaticFile | None:
    """A file of ours; None: there is none of this name."""
    path = _HERE / "static" / name
    if "/" in name or path.suffix not in _TYPES or not path.is_file():
        return None
    body = path.read_bytes()
    return StaticFile(body, _TYPES[path.suffix], sha256(body).hexdigest()[:16])


def static_answer(request: Request, name: str) -> Response:
    """A static file, with its tag; 404 where there is none."""
    found = static_file(name)
    if found is None:
        return Response("there is no such file\n", 404, media_type="text/plain")
    tag = f'"{found.digest}"'
    kept = request.query_params.get("v") == found.digest
    headers = {
        "ETag": tag,
        "Cache-Control": _KEPT if kept else _ASKED,
        "X-Content-Type-Options": "nosniff",
    }
    if request.headers.get("if-none-match", "").strip() == tag:
        return Response(status_code=304, headers=headers)
    return Response(found.body, headers=headers, media_type=found.media_type)


def static_address(name: str) -> str:
    """The address of a static file, with its hash."""
    found = static_file(name)
    assert found is not None, name
    return f"/static/{name}?v={found.digest}"


def path_part(name: str) -> str:
    """A name of a rollout in a path: slashes stay."""
    return quote(name, safe="/")


def _age(text: str, now: str) -> str:
    """How long ago a moment was, or how long it is until then."""
    span = parse_instant(now) - parse_instant(text)
    return f"{format_age(span)} ago" if span >= 0 else f"in {format_age(-span)}"


def _second(text: str) -> str:
    """A moment to the second."""
    return format_second(parse_instant(text))


@cache
def templates() -> minijinja.Environment:
    """Every template; a name that is not there is an error, and never an empty text."""
    found = {each.name: each.read_text() for each in (_HERE / "templates").glob("*.html")}
    made = minijinja.Environment(
        loader=found.get, undefined_behavior="strict", trim_blocks=True, lstrip_blocks=True
    )
    made.add_global("t", WORDS)
    made.add_global("looks", LOOKS)
    made.add_global("static", static_address)
    made.add_filter("path", path_part)
    made.add_filter("age", _age)
    made.add_filter("second", _second)
    return made


def html(name: str, status: int = 200, **context: object) -> Response:
    """A template as an answer."""
    text = templates().render_template(name, **context)
    return Response(text, status, headers=HEADERS, media_type="text/html")
