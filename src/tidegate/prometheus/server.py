"""A Prometheus as the settings describe it: where it is, and where its credentials are found.

servers:
  - {name: main, url: https://prometheus.example.com, tokenFile: /run/secrets/prometheus-token}
  - {name: lab, url: http://localhost:9090}

Settings hold no credentials, only where they are: in a file, or in an environment variable.
"""

import msgspec

from tidegate.documents.probe import url_trouble
from tidegate.documents.reader import Reader


class Secret(msgspec.Struct, frozen=True):
    """Where a secret is found; it is read anew each time, because such files change."""

    # None: not in a file.
    file: str | None = None
    # None: not in the environment.
    env: str | None = None


class PrometheusServer(msgspec.Struct, frozen=True, kw_only=True):
    """One server, and our credentials for it."""

    name: str
    url: str
    # None: no bearer token.
    token: Secret | None = None
    # None: no basic authentication.
    username: str | None = None
    password: Secret | None = None
    # None: the machine's certificates.
    ca_file: str | None = None


def read_server(reader: Reader) -> PrometheusServer:
    """One server of the settings."""
    for field in ("name", "url"):
        if not reader.has(field):
            reader.problems.add(reader.at(field), "missing", f"write its {field}")
    url = reader.text("url") or ""
    if url and (wrong := url_trouble(url)):
        remedy = "write http://… or https://…; credentials go into a file"
        reader.problems.add(reader.at("url"), wrong, remedy)
    token, password = _secret(reader, "token"), _secret(reader, "password")
    username = reader.text("username")
    if (username is None) != (password is None):
        missing = "passwordFile" if password is None else "username"
        reader.problems.add(reader.at(missing), "missing", "basic authentication needs both")
    if token is not None and username is not None:
        reader.problems.add(
            reader.at("username"), "cannot be combined with a token", "keep one of them"
        )
    server = PrometheusServer(
        name=reader.text("name") or "",
        url=url,
        token=token,
        username=username,
        password=password,
        ca_file=reader.text("caFile"),
    )
    reader.close()
    return server


def _secret(reader: Reader, field: str) -> Secret | None:
    file, env = reader.text(f"{field}File"), reader.text(f"{field}Env")
    if file is not None and env is not None:
        reader.problems.add(reader.at(f"{field}Env"), f"beside {field}File", "keep one of them")
    return Secret(file, env) if file is not None or env is not None else None
