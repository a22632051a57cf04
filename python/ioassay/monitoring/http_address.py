"""Security properties of addresses of servers: who can reach them, and whether traffic is encrypted."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """True for a loopback IP address, IPv6 with or without brackets; never for a name."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def sends_in_clear(url: str) -> bool:
    """True if others on the network can read the traffic."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return parts.scheme == "http" and host != "localhost" and not is_loopback(host)
