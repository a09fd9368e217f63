"""Why a server is not reached ends with what to write, and where."""

import ssl
from typing import Any, cast

import aiohttp

from tidegate.net.connection import KUBECONFIG_TRUST, connection_words


def untrusted() -> Exception:
    """A certificate of an authority that this machine does not know."""
    why = ssl.SSLCertVerificationError("self-signed certificate")
    return aiohttp.ClientConnectorCertificateError(cast(Any, None), why)


def test_a_certificate_that_is_not_trusted_names_the_command() -> None:
    """The variable that every command takes; of a cluster, what to write in its kubeconfig."""
    said = connection_words(untrusted())
    assert "self-signed certificate" in said
    assert "`SSL_CERT_FILE=ca.pem tidegate …`" in said
    assert "--certificate-authority=ca.pem" in connection_words(untrusted(), KUBECONFIG_TRUST)
