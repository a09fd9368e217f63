"""Answers of people at approval gates, as a fold over what they asked."""

from tidegate.gates.approval import Response
from tidegate.journal.facts import Asked, Verb
from tidegate.model.time import Instant

Responses = dict[str, tuple[Response, ...]]


def answered(known: Responses, at: Instant, actor: str, fact: Asked) -> Responses:
    """The answers after a person approved, rejected or revoked; a revoked answer is none."""
    found = dict(known)
    for gate in fact.gates:
        others = tuple(
            each
            for each in found.get(gate, ())
            if (each.who, each.revision) != (actor, fact.version)
        )
        mine = Response(
            who=actor,
            at=at,
            revision=fact.version or "",
            why=fact.reason,
            rejects=fact.verb is Verb.REJECT,
            expires_at=fact.expires_at,
        )
        found[gate] = others if fact.verb is Verb.REVOKE else (*others, mine)
    return found
