"""A token is what it claims to be, or refused: signature, issuer, audience, times, names."""

import hmac
import time
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from joserfc.jwk import ECKey, KeySet

from tests.oidc.small_issuer import CLIENT, SmallIssuer, now_s
from tidegate.model.time import SECOND, Instant
from tidegate.oidc.identity import Identity, IssuerSettings, LoginRefusedError
from tidegate.oidc.token import TOKEN_BYTES_MAX, check_token, claimed

URL = "https://issuer.example"
SETTINGS = IssuerSettings(issuer=URL, client_id=CLIENT, command_line_client_id="cli")


@pytest.fixture(scope="module")
def issuer() -> SmallIssuer:
    """One that does not listen."""
    made = SmallIssuer()
    made.url = URL
    return made


def checked(issuer: SmallIssuer, token: str, nonce: str | None = None) -> Identity:
    """What a token is known as, now."""
    now = Instant(int(time.time() * SECOND))
    return check_token(token, KeySet(issuer.published), SETTINGS, now, nonce=nonce)


def test_a_good_token_names_a_person(issuer: SmallIssuer) -> None:
    """With their groups; names that Kubernetes has for itself are no groups of an issuer."""
    groups = ["payments", "system:masters", ""]
    found = checked(issuer, issuer.token(groups=groups, nonce="n"), nonce="n")
    assert (found.name, found.subject) == ("ann@example.com", "s-1")
    assert found.groups == ("payments",)
    assert checked(issuer, issuer.token(aud=["other", "cli"], azp="cli")).name == found.name
    assert checked(issuer, issuer.token(groups=None)).groups == ()
    # Clocks differ a little.
    near = issuer.token(exp=now_s() - 30, nbf=now_s() + 30, iat=now_s() + 30)
    assert checked(issuer, near).name == found.name


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "expired": ({"exp": now_s() - 7200}, "expired at"),
    "no end": ({"exp": None}, "until when"),
    "an end that is no time": ({"exp": "tomorrow"}, "exp is no time"),
    "an end that is true": ({"exp": True}, "exp is no time"),
    "from the future": ({"iat": now_s() + 7200}, "compare the clocks"),
    "not yet": ({"nbf": now_s() + 7200}, "compare the clocks"),
    "of another issuer": ({"iss": "https://other.example"}, "not of https://issuer.example"),
    "for another client": ({"aud": "grafana"}, "is for grafana"),
    "for none": ({"aud": None}, "no audience"),
    "for something odd": ({"aud": [1]}, "no audience"),
    "given to another": ({"aud": [CLIENT, "grafana"], "azp": "grafana"}, "given to"),
    "without a name": ({"email": None}, "no email"),
    "with a name of two lines": ({"email": "ann\nrole: admin"}, "no email"),
    "without a subject": ({"sub": ""}, "no sub"),
    "with an address that no one verified": ({"email_verified": False}, "verify"),
    "with a name of Kubernetes": ({"email": "system:admin"}, "no issuer may give"),
    "with groups that are no names": ({"groups": {"admin": True}}, "no list of names"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_claim_that_is_wrong_refuses_the_token(issuer: SmallIssuer, case: str) -> None:
    """And the refusal says which, without showing the token."""
    claims, said = BAD[case]
    token = issuer.token(**claims)
    with pytest.raises(LoginRefusedError, match=said) as raised:
        checked(issuer, token)
    assert token.split(".")[2] not in str(raised.value)


def test_a_nonce_of_another_login_refuses_the_token(issuer: SmallIssuer) -> None:
    """A token that was stolen from another login is not taken for this one."""
    for token in (issuer.token(), issuer.token(nonce="another")):
        with pytest.raises(LoginRefusedError, match="another login"):
            checked(issuer, token, nonce="mine")


def test_a_signature_that_is_not_the_issuers_refuses_the_token(issuer: SmallIssuer) -> None:
    """Another key, a changed claim, no signature, a shared secret, another algorithm."""
    stranger = ECKey.generate_key("P-256", {"kid": "k1"})
    good = issuer.token()
    head, body, end = good.split(".")
    more = urlsafe_b64encode(b'{"iss":"https://issuer.example"}').rstrip(b"=").decode()
    none = urlsafe_b64encode(b'{"alg":"none"}').rstrip(b"=").decode()
    # The public key taken for a shared secret: a classic.
    shared = urlsafe_b64encode(b'{"alg":"HS256","kid":"k1"}').rstrip(b"=").decode()
    secret = issuer.key.as_pem(private=False)
    mac = hmac.digest(secret, f"{shared}.{body}".encode(), "sha256")
    forged = f"{shared}.{body}.{urlsafe_b64encode(mac).rstrip(b'=').decode()}"
    wider = issuer.token(key=ECKey.generate_key("P-384", {"kid": "k1"}), header={"alg": "ES384"})
    unknown = issuer.token(key=ECKey.generate_key("P-256", {"kid": "k9"}))
    bad = (
        issuer.token(key=stranger),
        f"{head}.{more}.{end}",
        f"{none}.{body}.",
        f"{head}.{body}.",
        forged,
        wider,
        unknown,
        f"{good}.more",
        "a.b.c",
        "",
        good + "x" * TOKEN_BYTES_MAX,
    )
    for token in bad:
        with pytest.raises(LoginRefusedError):
            checked(issuer, token)


def test_what_is_no_token_claims_nothing() -> None:
    """It decides what a token is checked against; garbage is checked against nothing."""
    for text in ("", "x", "a.b.c", "a.b", "..", "é.é.é", "W10.W10.W10", "x" * TOKEN_BYTES_MAX * 2):
        assert claimed(text, "iss") == ""
