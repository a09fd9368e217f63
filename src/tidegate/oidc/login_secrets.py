"""What one login is begun with: a state, a nonce, and the secret half of PKCE."""

import secrets
from base64 import urlsafe_b64encode
from hashlib import sha256

import msgspec


class LoginSecrets(msgspec.Struct, frozen=True, kw_only=True):
    """Kept by the program or browser that began a login, until it is finished."""

    # Comes back with the code: the answer is to this question.
    state: str
    # Comes back in the token: the token is for this login.
    nonce: str
    # Proves that the code is used by the program that asked for it.
    verifier: str
    # Where the person wanted to go.
    next: str = "/"

    def __repr__(self) -> str:
        """Without anything secret."""
        return "LoginSecrets()"

    @property
    def challenge(self) -> str:
        """What the issuer is told of the verifier beforehand (RFC 7636, S256)."""
        return urlsafe_b64encode(sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()

    def asked(self) -> dict[str, str]:
        """What the issuer is sent of it."""
        return {
            "state": self.state,
            "nonce": self.nonce,
            "code_challenge": self.challenge,
            "code_challenge_method": "S256",
        }


def new_secrets(following: str = "/") -> LoginSecrets:
    """Those of one login."""
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    return LoginSecrets(state=state, nonce=nonce, verifier=verifier, next=following)
