"""Asks a cluster which of its service accounts a token is of."""

from typing import Protocol

import msgspec


class ReviewedToken(msgspec.Struct, frozen=True, kw_only=True):
    """What a cluster says of a token."""

    # As the cluster names it: system:serviceaccount:ci:deployer; empty: it does not know it.
    username: str = ""
    groups: tuple[str, ...] = ()
    # Of those that were asked for, the audiences it was made for.
    audiences: tuple[str, ...] = ()


class TokenReviews(Protocol):
    """Reviews of tokens by one cluster."""

    # What the cluster is called here.
    name: str

    async def review(self, token: str, audience: str) -> ReviewedToken:
        """The account of a token; OutsideError if the cluster does not answer, or may not tell."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...
