"""Credentials, read from where the settings say when they are needed; never shown."""

import base64
import os
from pathlib import Path

from tidegate.model.errors import OutsideError
from tidegate.prometheus.server import PrometheusServer, Secret

# No token is longer; a file that is holds something else.
SECRET_BYTES_MAX = 64 * 1024


def headers(server: PrometheusServer) -> dict[str, str]:
    """The headers that authenticate us; OutsideError if the secret is not found."""
    if server.token is not None:
        return {"Authorization": f"Bearer {_secret(server.token, 'token')}"}
    if server.username is not None and server.password is not None:
        pair = f"{server.username}:{_secret(server.password, 'password')}"
        return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    return {}


def _secret(secret: Secret, what: str) -> str:
    if secret.env is not None:
        found, where = os.environ.get(secret.env, ""), f"${secret.env}"
    else:
        found, where = _from_file(Path(secret.file or ""), what), str(secret.file)
    found = found.strip()
    if not found:
        raise OutsideError(f"its {what} is not in {where}")
    if not found.isprintable():
        raise OutsideError(f"its {what} in {where} is more than one line")
    return found


def _from_file(path: Path, what: str) -> str:
    try:
        with path.open("rb") as file:
            found = file.read(SECRET_BYTES_MAX + 1)
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise OutsideError(f"its {what} cannot be read from {path}: {why}") from None
    if len(found) > SECRET_BYTES_MAX:
        raise OutsideError(f"its {what} in {path} is longer than {SECRET_BYTES_MAX} bytes")
    try:
        return found.decode()
    except UnicodeDecodeError:
        raise OutsideError(f"its {what} in {path} is not a text") from None
