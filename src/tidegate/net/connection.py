"""Why a connection was not made or did not last, whole, and what to try."""

import os

import aiohttp

# What a person can do about a server that is not reached.
_REACH = "check its address, the network (VPN, proxy) and whether it is up"
_TRUST = "check its certificate-authority, and the time on this machine"


def connection_words(error: Exception) -> str:
    """What is wrong, in the words of the system, and what to try."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not one we trust: {error.certificate_error}; {_TRUST}"
    if isinstance(error, aiohttp.ClientConnectorError):
        where = f"{error.host}:{error.port}"
        return f"cannot be reached at {where}: {_cause(error.os_error)}; {_REACH}"
    return f"the connection broke: {str(error) or type(error).__name__}; try again"


def _cause(error: OSError) -> str:
    """Why: in the words of the system, where it names a number."""
    said = error.strerror or str(error) or type(error).__name__
    number = error.errno or 0
    meant = os.strerror(number) if number > 0 else ""
    return f"{meant} ({said})" if meant and meant.lower() not in said.lower() else said
