"""Who may ask a simulated OpenShift Cluster Manager: tokens for credentials, and until when."""

import hmac
from collections.abc import Iterable, Mapping
from itertools import count

from tidegate.kinds.upgrades.ocm.simulated.answers import OcmAnswer, json_answer
from tidegate.kinds.upgrades.ocm.simulated.world_doc import CredentialDoc

# As long as the real one's.
LASTS_S = 900
# The credentials that are accepted where a world names none.
DEFAULT_CREDENTIALS = CredentialDoc(
    client_id="tidegate", client_secret="simulated", token="simulated-token"
)


_SERIAL = count(1)


class Tokens:
    """The tokens that were given out."""

    def __init__(self, credentials: Iterable[CredentialDoc], lasts_s: float = LASTS_S) -> None:
        self._credentials = tuple(credentials) or (DEFAULT_CREDENTIALS,)
        self._lasts_s = lasts_s
        # Token to whose data it opens and until when.
        self._given: dict[str, tuple[str, float]] = {}
        self.number = 0

    def give(self, form: Mapping[str, str], now_s: float) -> OcmAnswer:
        """A token for credentials, as the sign-on service gives it."""
        found = next((each for each in self._credentials if _is(each, form)), None)
        if found is None:
            error = {"error": "invalid_client", "error_description": "Invalid client credentials"}
            return json_answer(error, 401)
        self.number += 1
        # No two services give the same token: a client could not tell an old one from a new one.
        token = f"access-{next(_SERIAL)}-{found.client_id or 'person'}"
        self._given[token] = (found.org, now_s + self._lasts_s)
        lasts = {"expires_in": int(self._lasts_s), "token_type": "Bearer"}
        return json_answer({"access_token": token, **lasts, "scope": "openid"})

    def org_of(self, header: str, now_s: float) -> str | None:
        """The organisation whose data a request may see; empty: all; None: it is refused."""
        token = header.removeprefix("Bearer ")
        org, until = self._given.get(token, ("", now_s - 1))
        if until > now_s:
            return org
        # A person's token is taken as it is, too.
        for each in self._credentials:
            if each.token and _same(each.token, token):
                return each.org
        return None


def _is(credential: CredentialDoc, form: Mapping[str, str]) -> bool:
    grant = form.get("grant_type")
    if grant == "client_credentials":
        return bool(credential.client_id) and (
            _same(credential.client_id, form.get("client_id", ""))
            and _same(credential.client_secret, form.get("client_secret", ""))
        )
    given = form.get("refresh_token", "")
    return grant == "refresh_token" and bool(credential.token) and _same(credential.token, given)


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())
