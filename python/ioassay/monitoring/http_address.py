"""What addresses of servers reveal: which hosts can reach them, and read along."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether a host is an IP address, IPv6 with or without brackets, of this node alone; a name never is."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def sends_in_clear(url: str) -> bool:
    """Whether others on the network can read what is sent there."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return parts.scheme == "http" and host != "localhost" and not is_loopback(host)
