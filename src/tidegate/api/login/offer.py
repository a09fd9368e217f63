"""What a service says of how to log in, to programs that have not."""

from tidegate.model.document import Document

# Where it says so; no login is needed there.
PATH = "/auth/config"


class LoginOffer(Document, frozen=True, kw_only=True):
    """How a command line logs in here."""

    # Empty: by tokens of this service only.
    issuer: str = ""
    client_id: str = ""
    scopes: tuple[str, ...] = ()
    # Whether browsers log in at /auth/login.
    browser: bool = False
