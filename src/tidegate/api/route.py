"""Routes as a table: a path, and the typed function of the application behind it.

The types of the function are the contract: its query and body are decoded and checked by them, its
answer is encoded by them, and `openapi.py` describes them. Nothing else says what a route takes.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Generic, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import Meta

from tidegate.access.four_eyes import GivenApproval
from tidegate.access.roles import Caller, Reached, Right
from tidegate.app.partitions.journals import Journals
from tidegate.journal.fact import Fact
from tidegate.model.document import Document
from tidegate.store.archive_port import Archive

# What every path begins with.
BASE = "/api/v1"

# A reason is read by people, in tables; what is longer belongs where it can be linked to.
REASON_MAX = 4000

Q_co = TypeVar("Q_co", covariant=True)
B_co = TypeVar("B_co", covariant=True)


class RouteQuery(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """The parameters of a question; a subclass adds fields."""


class MomentQuery(RouteQuery, frozen=True):
    """The parameters of a question that the past answers, too; a subclass adds fields."""

    # As it was then: RFC 3339, how long ago (2h), or ENTRY/ROLLOUT; empty: now.
    at: str = ""


class RouteBody(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """What an act is told; a subclass adds fields."""

    # Why; kept in the journal.
    reason: Annotated[str, Meta(pattern=r"\S", max_length=REASON_MAX)]


@dataclass(frozen=True)
class RouteQuestion(Generic[Q_co]):
    """One question: by which caller, of what."""

    # What the caller sees, and all there is: to say what an act would reach.
    journals: Journals
    every: Journals
    archive: Archive
    caller: Caller
    # The last part of the path; empty: it has none.
    name: str
    query: Q_co


@dataclass(frozen=True)
class RouteAct(Generic[B_co]):
    """One act that a caller asks for."""

    # What the caller sees, and all there is: a brake binds more than its caller sees.
    journals: Journals
    every: Journals
    caller: Caller
    name: str
    body: B_co


@dataclass(frozen=True)
class RouteAnswer:
    """A document, and what its headers say."""

    document: Document
    # Where the next part of a list begins; empty: there is none.
    after: str = ""
    # The plan it shows, thing by thing; None: it shows none.
    rows: dict[str, str] | None = None


@dataclass(frozen=True)
class Addressed:
    """What has an address below that of the API."""

    path: str

    @property
    def named(self) -> bool:
        """Whether its path ends with a name."""
        return self.path.endswith("/{name}")

    @property
    def stem(self) -> str:
        """The first part of its path."""
        return f"/{self.verb}"

    @property
    def verb(self) -> str:
        """What is asked or done, in a word."""
        return self.path.strip("/").partition("/")[0]


@dataclass(frozen=True)
class QuestionRoute(Addressed):
    """A route that answers."""

    call: Callable[[RouteQuestion[Any]], Document | RouteAnswer]
    answer: tuple[type[Document], ...]
    right: Right = Right.VIEW
    # Whether it may take long: it reads journals of its own, and keeps no other question waiting.
    long: bool = False

    @cached_property
    def query(self) -> type[RouteQuery]:
        """The type of its parameters."""
        found: type[RouteQuery] = _argument(self.call, "ask")
        return found

    @property
    def summary(self) -> str:
        """What it answers."""
        return _first_line(self.call)


@dataclass(frozen=True)
class PreparedAct:
    """An act that can be recorded, and what it reaches."""

    # Where its facts are written.
    partition: str
    facts: tuple[Fact, ...]
    # What a dry run answers, and what is answered once it is recorded.
    reach: Document
    answer: Document
    # The plan it rests on, thing by thing (`app/partitions/plan_tag.py`).
    rows: dict[str, str]
    # The targets it is about; None: everything there is and will be.
    reached: tuple[Reached, ...] | None = ()
    # Of an approval: what four eyes are about.
    approval: GivenApproval | None = None
    # Whether more may start by it, although its route stops: a brake that replaces another.
    frees: bool = False
    # Places of budgets and mutexes that are given back, by their keys.
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class ActRoute(Addressed):
    """A route that records something."""

    prepare: Callable[[RouteAct[Any]], PreparedAct]
    answer: tuple[type[Document], ...]
    right: Right
    # Whether nothing starts by it: then it may be asked for without naming a plan.
    stops: bool = False

    @cached_property
    def body(self) -> type[RouteBody]:
        """The type of its body."""
        found: type[RouteBody] = _argument(self.prepare, "act")
        return found

    @property
    def summary(self) -> str:
        """What it does."""
        return _first_line(self.prepare)


def _argument(function: Callable[..., Any], name: str) -> Any:
    return get_args(get_type_hints(function)[name])[0]


def _first_line(function: Callable[..., Any]) -> str:
    return (inspect.getdoc(function) or "").partition("\n")[0]
