"""A vendor's REST interface as a table of operations; what they share of HTTP is here."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from tests.forge.described import Described
from tests.forge.world import Project, User, World


@dataclass
class Call:
    """A request to a project, by a person."""

    world: World
    user: User
    # The address of the pages of the forge.
    site: str
    parts: dict[str, str]
    query: dict[str, str]
    body: dict[str, Any]
    path: str

    def number(self, name: str) -> int:
        """A part of the path that is a number."""
        return int(self.parts[name]) if self.parts[name].isdigit() else 0


@dataclass
class Reply:
    """An answer."""

    data: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class AbsentError(Exception):
    """404, with the vendor's words."""


Operation = Callable[[Call], Reply]


@dataclass
class Vendor:
    """An interface: where it is, whose tokens it takes, what it does."""

    prefix: str
    operations: dict[str, Operation]
    # None: no one published a description of it.
    described: Described | None
    # What the size of a page is called, its default and the most there is.
    size: str = "per_page"
    usual: int = 30
    most: int = 100

    def token(self, request: web.Request) -> str:
        """The token of a request."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() in ("bearer", "token"):
            return token
        return request.headers.get("PRIVATE-TOKEN", "") if self.described is None else ""

    def paged(
        self, call: Call, items: list[Any], shown: Callable[[Any], Any] = lambda each: each
    ) -> Reply:
        """One page of a list, and where the next is."""
        size = min(int(call.query.get(self.size, self.usual)), self.most)
        page = int(call.query.get("page", "1"))
        links = []
        last = max(1, -(-len(items) // size))
        for name, number in (("next", page + 1), ("last", last)):
            if number <= last:
                query = urlencode({**call.query, "page": number})
                links.append(f'<{call.site}{call.path}?{query}>; rel="{name}"')
        headers = {"Link": ", ".join(links), "X-Total-Count": str(len(items))}
        headers |= {"X-Total": str(len(items)), "X-Page": str(page), "X-Per-Page": str(size)}
        headers["X-Next-Page"] = str(page + 1) if page < last else ""
        listed = [shown(each) for each in items[(page - 1) * size : page * size]]
        return Reply(listed, headers=headers)

    def carry_out(self, operation: str, call: Call) -> Reply:
        """Do what is asked, and hold both sides to the description."""
        if self.described is not None:
            self.described.check(operation, set(call.query), call.body or None)
        reply = self.operations[operation](call)
        if self.described is not None and reply.status < 300:
            reply.data = self.described.answer(operation, reply.status, reply.data)
        return reply


def project_of(call: Call, path: str, words: str) -> Project:
    """The project that is meant; AbsentError in the vendor's words."""
    if (found := call.world.project(path)) is None:
        raise AbsentError(words)
    return found
