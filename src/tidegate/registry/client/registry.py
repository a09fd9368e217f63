"""Asks registries which digest a tag has, seldom, and never longer than it may take.

Answers are remembered: for long where a tag looks like one build (`ed21267`, `v1.2.3`), for a
moment where it is moved by habit, and for less where there was none, because images are often named
before they are pushed.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from time import monotonic
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import msgspec

from tidegate.model.errors import OutsideError
from tidegate.model.json_text import decode_json
from tidegate.model.problem import shown
from tidegate.registry.client.requests import RegistryAnswer, RegistryLimits, RegistryRequests
from tidegate.registry.document import MANIFESTS, RegistryServer, is_digest, reference
from tidegate.registry.image import digest_of, is_one_build

_ACCEPT = {"Accept": ", ".join(MANIFESTS)}
# Of the tags of a repository, to suggest one for a mistyped tag.
PAGE, PAGES_MAX = 1000, 5


class Lives(msgspec.Struct, frozen=True):
    """How long an answer is believed, in seconds."""

    one_build: float = 3600.0
    moving: float = 60.0
    missing: float = 30.0
    # Of how many images; beyond that, what was asked longest ago is forgotten.
    kept_max: int = 10_000


class _Listed(msgspec.Struct):
    """Tags as a registry lists them."""

    tags: tuple[str, ...] | None = None


class OciRegistry:
    """The registries that may be asked, by the host that images name."""

    def __init__(
        self,
        servers: Iterable[RegistryServer],
        auth_file: Path | None = None,
        limits: RegistryLimits | None = None,
        lives: Lives | None = None,
        now_s: Callable[[], float] = monotonic,
    ) -> None:
        self._servers: Mapping[str, RegistryServer] = {each.host: each for each in servers}
        self._asking = RegistryRequests(auth_file, limits or RegistryLimits(), now_s)
        self._lives = lives or Lives()
        self._now_s = now_s
        # Until when, and what.
        self._known: dict[str, tuple[float, str | None]] = {}

    def asks(self, image: str) -> bool:
        """Whether an image is named by tag, at a registry that may be asked."""
        return not digest_of(image) and reference(image).host in self._servers

    async def digest(self, image: str) -> str | None:
        """The digest of a tag, as it is or was a moment ago; None: there is no such image."""
        until, known = self._known.get(image, (0.0, None))
        if self._now_s() < until:
            return known
        part = reference(image)
        path = f"/v2/{quote(part.name)}/manifests/{quote(part.tag, safe='')}"
        try:
            found = await self._digest(self._server(part.host), path, part.name)
        except OutsideError as error:
            raise OutsideError(f"{part.host}: {error}") from None
        self._remember(image, part.tag, found)
        return found

    async def tags(self, image: str) -> tuple[str, ...]:
        """Tags of a repository; never remembered, for only errors ask for them."""
        part = reference(image)
        try:
            return await self._tags(self._server(part.host), part.name)
        except OutsideError as error:
            raise OutsideError(f"{part.host}: {error}") from None

    async def close(self) -> None:
        """Close the connections."""
        await self._asking.close()

    def _server(self, host: str) -> RegistryServer:
        if host not in self._servers:
            raise OutsideError("no registry to ask; name it in the settings (registry)")
        return self._servers[host]

    async def _digest(self, server: RegistryServer, path: str, name: str) -> str | None:
        answer = await self._asking.ask(server, "HEAD", path, name, _ACCEPT)
        if _missing(answer):
            return None
        found = answer.headers.get("Docker-Content-Digest", "")
        if not found:
            # The header is a courtesy; what it says is the hash of the manifest.
            answer = await self._asking.ask(server, "GET", path, name, _ACCEPT)
            if _missing(answer):
                return None
            found = f"sha256:{hashlib.sha256(answer.body).hexdigest()}"
        if not is_digest(found):
            raise OutsideError(f"{shown(found)} is no digest")
        return found

    async def _tags(self, server: RegistryServer, name: str) -> tuple[str, ...]:
        found: list[str] = []
        query = urlencode({"n": PAGE})
        for _ in range(PAGES_MAX):
            path = f"/v2/{quote(name)}/tags/list?{query}"
            answer = await self._asking.ask(server, "GET", path, name, {})
            if _missing(answer):
                break
            try:
                found += decode_json(answer.body, _Listed).tags or ()
            except msgspec.MsgspecError:
                raise OutsideError("its list of tags cannot be read") from None
            query = _next_page(answer)
            if not query:
                break
        return tuple(found)

    def _remember(self, image: str, tag: str, found: str | None) -> None:
        lives = self._lives
        life = lives.one_build if is_one_build(tag) else lives.moving
        self._known.pop(image, None)
        self._known[image] = self._now_s() + (lives.missing if found is None else life), found
        if len(self._known) > lives.kept_max:
            del self._known[next(iter(self._known))]


def _missing(answer: RegistryAnswer) -> bool:
    """Whether there is no such thing; OutsideError for any answer that is none."""
    if answer.status == 404:
        return True
    if answer.status != 200:
        raise OutsideError(f"HTTP {answer.status}, which is no answer")
    return False


def _next_page(answer: RegistryAnswer) -> str:
    """The query of the next page; empty: this was the last. Only the query: it leads nowhere."""
    link = answer.headers.get("Link", "")
    target, _, kind = link.partition(">")
    if 'rel="next"' not in kind.replace("rel=next", 'rel="next"'):
        return ""
    asked = parse_qs(urlsplit(target.lstrip(" <")).query)
    return urlencode({name: values[0] for name, values in asked.items()})
