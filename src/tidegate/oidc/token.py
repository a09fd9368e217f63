"""Checks a token: its signature by the issuer's keys, then each claim that a login rests on.

Nothing is taken from a token before its signature is known to be good, except which key signed it.
"""

from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tidegate.model.json_text import decode_json
from tidegate.model.time import SECOND, Instant, format_second
from tidegate.oidc.identity import Identity, IssuerSettings, LoginRefusedError

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

# A token with hundreds of groups has some 10 kB.
TOKEN_BYTES_MAX = 32 * 1024
# Kubernetes and we ourselves give names that begin so: no issuer does.
RESERVED = "system:"
_LATEST = 1 << 33


def claimed(token: str, field: str) -> str:
    """What a token that is not checked yet says of itself: `iss`, or the header's `kid`.

    It decides only what to check a token against; empty: it is no JWT, or does not say.
    """
    parts = token.split(".")
    if len(parts) != 3 or len(token) > TOKEN_BYTES_MAX:
        return ""
    part = parts[0] if field in ("kid", "alg") else parts[1]
    try:
        found = decode_json(_decoded(part))
    except ValueError:  # msgspec's errors are ValueErrors
        return ""
    value = found.get(field) if isinstance(found, dict) else None
    return value if isinstance(value, str) else ""


def expiry_of(token: str) -> Instant | None:
    """When a token that is our own ends, as it says; None: it does not say."""
    try:
        found = decode_json(_decoded(token.split(".")[1]))
        return _moment(found, "exp") if isinstance(found, dict) else None
    except (ValueError, IndexError, LoginRefusedError):
        return None


def check_token(
    token: str, keys: "KeySet", settings: IssuerSettings, now: Instant, *, nonce: str | None = None
) -> Identity:
    """The person a token names; LoginRefusedError says what is wrong with it.

    `nonce`: what the login was begun with; None: it was not begun here.
    """
    if len(token) > TOKEN_BYTES_MAX:
        raise LoginRefusedError(f"the token has more than {TOKEN_BYTES_MAX} bytes")
    algorithm = claimed(token, "alg")
    if algorithm not in settings.algorithms:
        allowed = ", ".join(settings.algorithms)
        raise LoginRefusedError(f'the token is signed with "{algorithm[:20]}", not with {allowed}')
    # Cryptography takes long to import, and a service without an issuer checks no token.
    from joserfc import jwt
    from joserfc.errors import JoseError

    try:
        claims = jwt.decode(token, keys, algorithms=list(settings.algorithms)).claims
    except (JoseError, ValueError) as error:
        raise LoginRefusedError(f"the token's signature is not good: {_short(error)}") from None
    _check_issued(claims, settings)
    expires_at = _check_times(claims, settings, now)
    if nonce is not None and claims.get("nonce") != nonce:
        raise LoginRefusedError("the token was made for another login: log in again")
    return Identity(
        issuer=settings.issuer,
        subject=_text(claims, "sub"),
        name=_name(claims, settings),
        groups=_groups(claims, settings),
        expires_at=expires_at,
    )


def _check_issued(claims: Mapping[str, Any], settings: IssuerSettings) -> None:
    if claims.get("iss") != settings.issuer:
        raise LoginRefusedError(f"the token is not of {settings.issuer}")
    audience = claims.get("aud")
    every = [audience] if isinstance(audience, str) else audience
    if not isinstance(every, list) or not all(isinstance(each, str) for each in every):
        raise LoginRefusedError("the token has no audience")
    if not settings.accepted & set(every):
        wanted = ", ".join(sorted(settings.accepted))
        raise LoginRefusedError(f"the token is for {', '.join(every)[:100]}, not for {wanted}")
    # Of several audiences, the one it was given to must be ours (OpenID Connect Core 3.1.3.7).
    party = claims.get("azp")
    if len(every) > 1 and party is not None and party not in settings.accepted:
        raise LoginRefusedError(f'the token was given to "{str(party)[:60]}"')


def _check_times(claims: Mapping[str, Any], settings: IssuerSettings, now: Instant) -> Instant:
    expires = _moment(claims, "exp")
    if expires is None:
        raise LoginRefusedError("the token does not say until when it is good")
    if now >= expires + settings.clock_skew:
        raise LoginRefusedError(f"the token expired at {format_second(expires)}: log in again")
    for field in ("nbf", "iat"):
        begins = _moment(claims, field)
        if begins is not None and now < begins - settings.clock_skew:
            ahead = format_second(begins)
            raise LoginRefusedError(f"the token is good from {ahead} on: compare the clocks")
    return expires


def _moment(claims: Mapping[str, Any], field: str) -> Instant | None:
    value = claims.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LATEST:
        raise LoginRefusedError(f"the token's {field} is no time")
    return Instant(int(value) * SECOND)


def _name(claims: Mapping[str, Any], settings: IssuerSettings) -> str:
    field = settings.username_claim
    if field == "email" and claims.get("email_verified") is False:
        raise LoginRefusedError("the issuer did not verify the address in this token")
    name = _text(claims, field)
    if name.startswith(RESERVED):
        raise LoginRefusedError(f'"{name[:60]}" is a name that no issuer may give')
    return name


def _groups(claims: Mapping[str, Any], settings: IssuerSettings) -> tuple[str, ...]:
    found = claims.get(settings.groups_claim, [])
    every = [found] if isinstance(found, str) else found
    if not isinstance(every, list) or not all(isinstance(each, str) for each in every):
        raise LoginRefusedError(f"the token's {settings.groups_claim} is no list of names")
    return tuple(each for each in every if each and not each.startswith(RESERVED))


def _text(claims: Mapping[str, Any], field: str) -> str:
    value = claims.get(field)
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise LoginRefusedError(f"the token has no {field}: the issuer must give one")
    return value


def _decoded(part: str) -> bytes:
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _short(error: Exception) -> str:
    """The kind of an error, never a part of a token."""
    return str(getattr(error, "error", "") or type(error).__name__).replace("_", " ")
