"""Answers about upgrades from a service, where one is set or logged in to."""

from typing import TypeVar

import click

from tidegate.cli.answers.place import AnswerPlace, asks_service, service_client
from tidegate.kinds.upgrades.cli.source.flags import WorldQuery
from tidegate.model.document import Document

D = TypeVar("D", bound=Document)


def is_served(query: WorldQuery) -> bool:
    """Whether a service answers.

    A source that is named beside a service that was logged in to wins; named beside --server, it is
    a mistake.
    """
    named = _named(query)
    if (named and not query.settings.server) or not asks_service(AnswerPlace.of(query.settings)):
        return False
    if named:
        raise click.UsageError(f"{named} and --server cannot be combined; leave one out")
    return True


def served_answer(query: WorldQuery, path: str, *kinds: type[D], **parameters: object) -> D | None:
    """The document that a service answers with; None: it is made here."""
    client = service_client(AnswerPlace.of(query.settings)) if is_served(query) else None
    if client is None:
        return None
    given = {"org": list(query.orgs), **parameters}
    return client.get(path, {key: value for key, value in given.items() if value}, *kinds)


def _named(query: WorldQuery) -> str:
    """What of a query is not for a service: a source of its own, or another moment."""
    settings = query.settings
    given = {
        "--world": query.world,
        "--ocm-url": settings.ocm_url,
        "--token": settings.ocm_token,
        "--upgrades": settings.upgrades,
        "--soak": query.soak,
        "--now": query.at,
        "--recorded": query.recorded,
    }
    return next((name for name, value in given.items() if value), "")
