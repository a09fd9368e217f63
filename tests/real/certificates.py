"""Certificates for servers of a test, strict enough for every Python."""

import ssl
import subprocess
from functools import cached_property
from pathlib import Path

import msgspec

_AUTHORITY = """\
[req]
distinguished_name = name
prompt = no
x509_extensions = authority
[name]
CN = tests
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign,cRLSign,digitalSignature
subjectKeyIdentifier = hash
"""
_LEAF = """\
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = {use}
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
{names}
"""
_CURVE = ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")


class Issued(msgspec.Struct, frozen=True):
    """A certificate and its key, as files."""

    certificate: Path
    key: Path


class Authority:
    """Signs for servers on this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.certificate = folder / "ca.crt"
        self._key = self._new_key("ca")
        self.service_key = self._new_key("service")
        self.service_public = folder / "service.pub"
        _openssl("pkey", "-in", self.service_key, "-pubout", "-out", self.service_public)
        config = folder / "ca.cnf"
        config.write_text(_AUTHORITY)
        _openssl(
            *("req", "-x509", "-new", "-days", "2", "-config", config),
            *("-key", self._key, "-out", self.certificate),
        )

    @cached_property
    def _trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))

    def trusting(self) -> ssl.SSLContext:
        """TLS for clients that trust this authority."""
        return self._trusting

    def issue(self, name: str, *, serves: bool = False, group: str = "") -> Issued:
        """A certificate for a server on loopback, or for a client of this name and group."""
        issued = Issued(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        if issued.certificate.exists():
            return issued
        self._new_key(name)
        request, extensions = self._folder / f"{name}.csr", self._folder / f"{name}.cnf"
        names = "subjectAltName = IP:127.0.0.1,DNS:localhost" if serves else ""
        use = "serverAuth" if serves else "clientAuth"
        extensions.write_text(_LEAF.format(use=use, names=names))
        subject = (f"/O={group}" if group else "") + f"/CN={name}"
        _openssl("req", "-new", "-key", issued.key, "-subj", subject, "-out", request)
        _openssl(
            *("x509", "-req", "-days", "2", "-in", request, "-extfile", extensions),
            *("-CA", self.certificate, "-CAkey", self._key, "-CAcreateserial"),
            *("-out", issued.certificate),
        )
        return issued

    def _new_key(self, name: str) -> Path:
        path = self._folder / f"{name}.key"
        _openssl("genpkey", *_CURVE, "-out", path)
        return path


def _openssl(*arguments: str | Path) -> None:
    done = subprocess.run(
        ["openssl", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
