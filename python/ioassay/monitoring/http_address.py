"""What addresses of servers say of who can reach them, and read along."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether an IP address, IPv6 with or without brackets, is one of this node alone. Raises `ValueError` for none."""
    return ipaddress.ip_address(host.strip("[]")).is_loopback


def sends_in_clear(url: str) -> bool:
    """Whether others on the network can read what is sent there."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        is_here = is_loopback(host)
    except ValueError:
        is_here = host == "localhost"
    return parts.scheme == "http" and not is_here
