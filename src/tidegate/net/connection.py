"""Why a connection was not made or did not last, whole, and what to try."""

import os

import aiohttp

# What a person can do about a server that is not reached.
_REACH = "check its address, the network (VPN, proxy) and whether it is up"
# About one that is spoken to in TLS.
_PLAIN = "if it speaks plain HTTP, write http:// in its address"
# And about one that is not trusted: the variable is OpenSSL's, and counts for every server.
_TRUST = (
    "name a file with the certificate of its authority, as in `SSL_CERT_FILE=ca.pem tidegate …`"
    " or, of a service, `tidegate login SERVER --ca-file ca.pem`,"
    " or set the clock of this machine right"
)
# The same, where a kubeconfig says which authority is trusted.
KUBECONFIG_TRUST = (
    "name its authority in the kubeconfig,"
    " `kubectl config set-cluster NAME --certificate-authority=ca.pem`,"
    " or set the clock of this machine right"
)


def connection_words(error: Exception, trust: str = _TRUST) -> str:
    """What is wrong, in the words of the system, and what to try.

    `trust`: what to do about a certificate that is not trusted.
    """
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not one we trust: {error.certificate_error}; {trust}"
    if isinstance(error, aiohttp.ClientConnectorSSLError):
        return f"{error.host}:{error.port} does not speak TLS as we do: {_tls(error)}; {_PLAIN}"
    if isinstance(error, aiohttp.ClientConnectorError):
        where = f"{error.host}:{error.port}"
        return f"cannot be reached at {where}: {_cause(error.os_error)}; {_REACH}"
    return f"the connection broke: {str(error) or type(error).__name__}; try again"


def _tls(error: aiohttp.ClientConnectorError) -> str:
    """What OpenSSL says; its number is one of the system's by chance."""
    return error.os_error.strerror or str(error.os_error)


def _cause(error: OSError) -> str:
    """Why: in the words of the system, where it names a number."""
    said = error.strerror or str(error) or type(error).__name__
    number = error.errno or 0
    meant = os.strerror(number) if number > 0 else ""
    return f"{meant} ({said})" if meant and meant.lower() not in said.lower() else said
