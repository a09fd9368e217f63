"""Addresses of hosts."""

import ipaddress
import re
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether a host, with a port or without, is this machine."""
    bare = re.sub(r":[0-9]+$", "", host).strip("[]")
    try:
        return ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return bare == "localhost"


def is_safe(url: str) -> bool:
    """Whether secrets may be sent to an address: TLS, or this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.netloc))
