"""What is set about an issuer, and the person that a token of it names."""

import msgspec

from tidegate.model.errors import TidegateError
from tidegate.model.time import SECOND, Duration, Instant

# Signatures with a public key only: with a shared secret a client could make tokens itself.
ALGORITHMS = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
)


class LoginRefusedError(TidegateError):
    """A login that does not work, and why; it says nothing secret."""


class IssuerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """An issuer, and what its tokens must be like."""

    # Exactly as it is in its tokens.
    issuer: str
    # The client of the page, and its secret; empty: it is a public one.
    client_id: str
    client_secret: str = ""
    # The public client of the command line; empty: the same one.
    command_line_client_id: str = ""
    # More audiences whose tokens count.
    audiences: tuple[str, ...] = ()
    username_claim: str = "email"
    groups_claim: str = "groups"
    scopes: tuple[str, ...] = ("openid", "email", "profile", "groups", "offline_access")
    algorithms: tuple[str, ...] = ("RS256", "ES256")
    # How far two clocks may be apart.
    clock_skew: Duration = Duration(60 * SECOND)
    # A file of certificate authorities; empty: those that the machine trusts.
    certificate_authority: str = ""

    def __repr__(self) -> str:
        """Without the secret."""
        return f"IssuerSettings({self.issuer!r}, {self.client_id!r})"

    @property
    def command_line_client(self) -> str:
        """The client that the command line logs in as."""
        return self.command_line_client_id or self.client_id

    @property
    def accepted(self) -> frozenset[str]:
        """The audiences of which a token must have one."""
        return frozenset((self.client_id, self.command_line_client, *self.audiences))


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """A person or program that an issuer vouches for."""

    issuer: str
    subject: str
    # As grants and the journal name it.
    name: str
    groups: tuple[str, ...] = ()
    expires_at: Instant
