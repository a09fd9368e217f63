"""A real registry of images on this machine, images pushed to it by hand, and who may see them."""

import base64
import hashlib
import json
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.patience import PATIENCE_S
from tests.real.certificates import Authority, Issued
from tests.real.prometheus import free_port
from tests.serving import beside

START_TIMEOUT_S = PATIENCE_S
USER, PASSWORD = "tests", "open sesame"
# Of that password; no Python since 3.13 can make one.
HASH = "$2b$04$qY2agg1urffvn8hlWABN8OYzeJgaGkxdnJtEZ61/BGqy9qMfVBtzy"
SERVICE, ISSUER = "images of tests", "tests"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
CONFIG = """\
version: 0.1
log: {{level: warn}}
storage: {{filesystem: {{rootdirectory: {folder}/data}}, delete: {{enabled: true}}}}
http: {{addr: "{address}", secret: tests}}
{auth}
"""
TOKENS = """\
auth:
  token: {{realm: "{realm}", service: {service}, issuer: {issuer}, rootcertbundle: {bundle}}}
"""


class Images:
    """A registry, and a way to push to it."""

    def __init__(self, address: str, header: str = "") -> None:
        self.address = address
        self._header = header

    def push(self, name: str, tag: str, content: str) -> str:
        """An image of one platform; its digest."""
        config = self._blob(name, json.dumps({"architecture": "amd64", "of": content}).encode())
        layer = self._blob(name, content.encode())
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **config},
            "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar", **layer}],
        }
        return self._manifest(name, tag, MANIFEST, manifest)

    def push_index(self, name: str, tag: str, contents: dict[str, str]) -> str:
        """An image for several platforms; the digest of the whole."""
        parts = []
        for platform, content in contents.items():
            digest = self.push(name, f"{tag}-{platform}", content)
            size = len(self._get(name, digest))
            parts.append(
                {
                    "mediaType": MANIFEST,
                    "digest": digest,
                    "size": size,
                    "platform": {"architecture": platform, "os": "linux"},
                }
            )
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": parts}
        return self._manifest(name, tag, INDEX, index)

    def _blob(self, name: str, content: bytes) -> dict[str, Any]:
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        begun = self._send("POST", f"/v2/{name}/blobs/uploads/", b"", "")
        where = begun.headers["Location"]
        joint = "&" if "?" in where else "?"
        path = where.removeprefix(f"http://{self.address}")
        self._send("PUT", f"{path}{joint}digest={digest}", content, "application/octet-stream")
        return {"digest": digest, "size": len(content)}

    def _manifest(self, name: str, tag: str, kind: str, manifest: dict[str, Any]) -> str:
        body = json.dumps(manifest).encode()
        self._send("PUT", f"/v2/{name}/manifests/{tag}", body, kind)
        return f"sha256:{hashlib.sha256(body).hexdigest()}"

    def _get(self, name: str, digest: str) -> bytes:
        url = f"http://{self.address}/v2/{name}/manifests/{digest}"
        asked = urllib.request.Request(url, headers=self._head(MANIFEST, "Accept"))
        with urllib.request.urlopen(asked, timeout=PATIENCE_S) as answer:
            body: bytes = answer.read()
            return body

    def _send(self, method: str, path: str, body: bytes, kind: str) -> Any:
        asked = urllib.request.Request(
            f"http://{self.address}{path}",
            data=body,
            method=method,
            headers=self._head(kind, "Content-Type"),
        )
        return urllib.request.urlopen(asked, timeout=PATIENCE_S)

    def _head(self, kind: str, name: str) -> dict[str, str]:
        signed = {"Authorization": self._header} if self._header else {}
        return {**signed, **({name: kind} if kind else {})}


class Tokens:
    """Issues tokens for the right password, as registries delegate it."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder)
        self._key: Issued = self.authority.issue("tokens")
        # How long a token lasts; and what was asked for, with whose name.
        self.life_s = 300
        self.asked: list[tuple[str, str]] = []
        tokens = self

        class Answering(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                tokens.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self.url = f"http://127.0.0.1:{self.server.server_port}/token"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """One question for a token."""
        scope = parse_qs(urlsplit(request.path).query).get("scope", [""])[0]
        user = _user(request.headers.get("Authorization", ""))
        self.asked.append((scope, user))
        if user and user != f"{USER}:{PASSWORD}":
            request.send_error(401)
            return
        # Without a login there is a token as well: it is good for nothing.
        body = json.dumps({"token": self.signed(scope if user else ""), "expires_in": self.life_s})
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body.encode())

    def signed(self, scope: str) -> str:
        """A token for a scope, signed by a certificate the registry trusts."""
        now = int(time.time())
        chain = "".join(self._key.certificate.read_text().splitlines()[1:-1])
        head = {"typ": "JWT", "alg": "ES256", "x5c": [chain]}
        claims: dict[str, Any] = {"iss": ISSUER, "sub": USER, "aud": SERVICE}
        claims |= {"jti": str(time.monotonic_ns())}
        claims |= {"iat": now - 5, "nbf": now - 5, "exp": now + 600, "access": _access(scope)}
        text = ".".join(_web(json.dumps(part).encode()) for part in (head, claims))
        return f"{text}.{_web(self._sign(text.encode()))}"

    def _sign(self, text: bytes) -> bytes:
        command = ["openssl", "dgst", "-sha256", "-sign", str(self._key.key)]
        return _raw(subprocess.run(command, input=text, capture_output=True, check=True).stdout)


def _user(header: str) -> str:
    return base64.b64decode(header.removeprefix("Basic ")).decode() if header else ""


def _access(scope: str) -> list[dict[str, Any]]:
    if not scope:
        return []
    kind, name, actions = scope.split(":")
    return [{"type": kind, "name": name, "actions": actions.split(",")}]


def _web(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _raw(der: bytes) -> bytes:
    """A signature as tokens have it: both numbers, 32 bytes each, without the envelope."""
    numbers, at = b"", 2
    for _ in range(2):
        length = der[at + 1]
        numbers += der[at + 2 : at + 2 + length].lstrip(b"\0").rjust(32, b"\0")
        at += 2 + length
    return numbers


@contextmanager
def handing_out(folder: Path) -> Iterator[Tokens]:
    """A server of tokens until the end."""
    tokens = Tokens(folder)
    with beside(tokens.server):
        yield tokens


@contextmanager
def running(program: str, folder: Path, auth: str = "", header: str = "") -> Iterator[Images]:
    """A registry with nothing in it, open to all or as `auth` of its configuration says."""
    folder.mkdir(parents=True, exist_ok=True)
    address = f"127.0.0.1:{free_port()}"
    config = folder / "config.yml"
    config.write_text(CONFIG.format(folder=folder, address=address, auth=auth))
    log = folder / "log"
    with log.open("wb") as out:
        process = subprocess.Popen([program, "serve", str(config)], stdout=out, stderr=out)
        try:
            _wait(f"http://{address}/v2/", process, log)
            yield Images(address, header)
        finally:
            process.terminate()
            process.wait(timeout=START_TIMEOUT_S)


def with_password(folder: Path) -> str:
    """The configuration of a registry that wants a name and a password."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "htpasswd").write_text(f"{USER}:{HASH}\n")
    return f"auth: {{htpasswd: {{realm: tests, path: {folder}/htpasswd}}}}"


def with_tokens(tokens: Tokens) -> str:
    """The configuration of a registry that wants tokens."""
    bundle = tokens.authority.certificate
    return TOKENS.format(realm=tokens.url, service=SERVICE, issuer=ISSUER, bundle=bundle)


def docker_config(path: Path, address: str, password: str = PASSWORD) -> Path:
    """A docker config file with a login."""
    auth = base64.b64encode(f"{USER}:{password}".encode()).decode()
    path.write_text(json.dumps({"auths": {address: {"auth": auth}}}))
    return path


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except urllib.error.HTTPError as error:
            if error.code == 401:
                return
        except (urllib.error.URLError, OSError):
            pass
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise AssertionError(f"the registry did not start: {log.read_text()[-2000:]}")
