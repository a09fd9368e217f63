"""Addresses of hosts."""

import ipaddress
import re


def is_loopback(host: str) -> bool:
    """Whether a host, with a port or without, is this machine."""
    bare = re.sub(r":[0-9]+$", "", host).strip("[]")
    try:
        return ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return bare == "localhost"
