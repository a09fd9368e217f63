"""Who we are to a server, at the moment it is asked: certificates loaded once, tokens read anew."""

import asyncio
import ssl
import tempfile
from pathlib import Path

from tidegate.kubernetes.client.access import ClusterAccess
from tidegate.kubernetes.port import NotAllowedError
from tidegate.model.errors import OutsideError

# A pod's token is renewed every hour at the latest, some ten minutes before it ends.
TOKEN_AGE_MAX_S = 60.0
# No token is longer; a file that is holds something else.
TOKEN_BYTES_MAX = 64 * 1024


class ClusterLogin:
    """The headers and the TLS of one access."""

    def __init__(self, access: ClusterAccess) -> None:
        self._access = access
        self._tls: ssl.SSLContext | bool | None = None
        self._token = access.token
        self._read_at: float | None = None

    async def tls(self) -> ssl.SSLContext | bool:
        """How the server is known, and how we are if by a certificate; True: as any server is."""
        if self._tls is None:
            self._tls = await asyncio.to_thread(_tls, self._access)
        return self._tls

    async def headers(self) -> dict[str, str]:
        """How we are known, if by a token."""
        path = self._access.token_file
        if path is not None and (
            self._read_at is None
            or asyncio.get_running_loop().time() - self._read_at > TOKEN_AGE_MAX_S
        ):
            self._token = await asyncio.to_thread(_token, self._access.name, Path(path))
            self._read_at = asyncio.get_running_loop().time()
        return {"Authorization": f"Bearer {self._token}"} if self._token else {}

    def renew(self) -> bool:
        """The token was refused: whether a newer one may be there."""
        fresh = self._read_at is None or asyncio.get_running_loop().time() - self._read_at < 1.0
        self._read_at = None
        return self._access.token_file is not None and not fresh


def _token(name: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            found = file.read(TOKEN_BYTES_MAX + 1)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise OutsideError(f"{name}: its token cannot be read from {path}: {why}") from None
    try:
        token = found.decode().strip()
    except UnicodeDecodeError:
        token = ""
    if not token or not token.isprintable() or len(found) > TOKEN_BYTES_MAX:
        raise OutsideError(f"{name}: {path} holds no token")
    return token


def _tls(access: ClusterAccess) -> ssl.SSLContext | bool:
    if access.ca is None and access.verify and access.certificate is None:
        # The authorities that the machine trusts: aiohttp has read them once for all servers, and
        # to read them again for each of them takes 20 ms of CPU.
        return True
    try:
        context = ssl.create_default_context(cadata=access.ca)
        if not access.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if access.certificate is not None and access.key is not None:
            _present(context, access.certificate, access.key)
    except (ssl.SSLError, OSError, ValueError) as error:
        why = getattr(error, "reason", None) or type(error).__name__
        raise NotAllowedError(f"{access.name}: its certificates cannot be used: {why}") from None
    return context


def _present(context: ssl.SSLContext, certificate: str, key: str) -> None:
    """The ssl module takes a certificate from a file only; it is readable for its owner only."""
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(f"{certificate}\n{key}\n")
        file.flush()
        context.load_cert_chain(file.name)
