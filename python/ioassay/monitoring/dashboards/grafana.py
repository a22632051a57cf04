"""Saves dashboards in a folder through Grafana's HTTP API. Not: their contents."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import stat
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Final

from ioassay.errors import CannotRun, UsageError
from ioassay.monitoring.dashboards.library import Json
from ioassay.monitoring.http_address import sends_in_clear
from ioassay.version import __version__

TIMEOUT_S: Final = 30
_MOST_TOKEN_BYTES: Final = 4096
_MOST_ANSWER_BYTES: Final = 16 << 20
_FOLDERS_OF_A_PAGE: Final = 1000
_MOST_PAGES: Final = 100


def read_token(path: Path) -> str:
    """The token in a file that only its owner can read. Raises `UsageError`; messages never contain the file's
    contents.
    """
    remedy = f"Make it yours and private: chmod 600 {path}"
    try:
        # O_NONBLOCK: do not wait for the writer of a pipe.
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise UsageError(f"{path} is not a regular file.", "Write the token into a file: --token-file FILE.")
            if status.st_uid not in (os.geteuid(), 0):
                raise UsageError(f"{path} belongs to another user, who could replace the token.", remedy)
            if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise UsageError(f"{path} can be used by other users.", remedy)
            content = file.read(_MOST_TOKEN_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", "Check --token-file.") from error
    # The agent's credentials files have this word before a token.
    token = content.strip().removeprefix(b"token ").strip()
    if not token or len(content) > _MOST_TOKEN_BYTES or any(byte <= 0x20 or byte >= 0x7F for byte in token):
        raise UsageError(
            f"{path} does not hold a token.",
            "Write the token of a service account of Grafana into it, and nothing else.",
        )
    return token.decode("ascii")


class Grafana:
    """A Grafana server, with the rights of the token. Its methods raise `CannotRun`."""

    def __init__(self, address: str, token: str | None) -> None:
        """Raises `UsageError` for an invalid address."""
        try:
            parts = urllib.parse.urlsplit(address)
            is_address = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
        except ValueError:
            is_address = False
        if not is_address or parts.query or parts.fragment:
            raise UsageError(
                f"{address if '@' not in address else 'The address of Grafana'} is no address of a server.",
                "Write it like https://grafana.example:3000",
            )
        if parts.username is not None or parts.password is not None:
            raise UsageError(
                "The address of Grafana has a user or a password in it.",
                "Use the token of a service account: --token-file FILE.",
            )
        self.address = urllib.parse.urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))
        self._token = token
        self._opener = urllib.request.build_opener(_NoRedirects)

    @property
    def shows_token(self) -> bool:
        """True if others on the network can read the token."""
        return self._token is not None and sends_in_clear(self.address)

    def folder(self, title: str) -> str:
        """The UID of the top-level folder with this title; created if missing."""
        for page in range(1, _MOST_PAGES + 1):
            action = f"reading the folder {title}"
            folders = self._ask("GET", f"/api/folders?limit={_FOLDERS_OF_A_PAGE}&page={page}", action)
            if not isinstance(folders, list) or not all(isinstance(folder, dict) for folder in folders):
                raise self._no_grafana()
            uid_found = next((folder.get("uid") for folder in folders if folder.get("title") == title), None)
            if isinstance(uid_found, str):
                return uid_found
            if len(folders) < _FOLDERS_OF_A_PAGE:
                break
        else:
            raise self._no_grafana()
        created = self._ask("POST", "/api/folders", f"creating the folder {title}", {"title": title})
        uid = created.get("uid") if isinstance(created, dict) else None
        if not isinstance(uid, str):
            raise self._no_grafana()
        return uid

    def save(self, dashboard: Json, folder: str) -> str:
        """Saves a dashboard in the folder, replacing the one with the same UID. Returns its address."""
        body = {
            "dashboard": dashboard | {"id": None},
            "folderUid": folder,
            "overwrite": True,
            "message": f"ioassay {__version__}",
        }
        saved = self._ask("POST", "/api/dashboards/db", f"saving the dashboard {dashboard['title']}", body)
        if not isinstance(saved, dict) or saved.get("status") != "success":
            raise self._no_grafana()
        return f"{self.address}/d/{dashboard['uid']}"

    def _ask(self, method: str, path: str, action: str, body: Any = None) -> Any:
        request = urllib.request.Request(f"{self.address}{path}", method=method)
        request.add_header("Accept", "application/json")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        if self._token is not None:
            # The token must not be sent to another server after a redirect.
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            with self._opener.open(request, timeout=TIMEOUT_S) as answer:
                content = answer.read(_MOST_ANSWER_BYTES)
        except urllib.error.HTTPError as error:
            raise self._refused(error, action) from None
        except urllib.error.URLError as error:
            raise self._unreachable(error.reason) from None
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from None
        try:
            return json.loads(content)
        except ValueError:
            raise self._no_grafana() from None

    def _no_grafana(self) -> CannotRun:
        return CannotRun(
            f"{self.address} does not answer as Grafana does.",
            "Check the address; where Grafana is behind a proxy, its path belongs to it.",
        )

    def _refused(self, error: urllib.error.HTTPError, action: str) -> CannotRun:
        code = error.code
        remedy = _REMEDIES.get(code, "Try again later." if code >= 500 else "Check the address, and Grafana's log.")
        if code == 401 and self._token is None:
            remedy = "Write the token of a service account of Grafana into a file: --token-file FILE."
        elif 300 <= code < 400:
            remedy = f"Use the address that it sends on to, if that is right: {error.headers.get('Location')}"
        return CannotRun(f"{self.address} refuses {action} ({code}{self._said(error)}).", remedy)

    def _said(self, error: urllib.error.HTTPError) -> str:
        """Grafana's message, as the end of a parenthesis."""
        try:
            message = json.loads(error.read(_MOST_ANSWER_BYTES))["message"]
        except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
            return f": {error.reason}" if error.reason else ""
        words = " ".join(str(message).split())[:200]
        return f": {words.replace(self._token, '[token]') if self._token else words}"

    def _unreachable(self, reason: object) -> CannotRun:
        for kind, message, remedy in _FAULTS:
            if isinstance(reason, kind):
                reason_text = getattr(reason, "verify_message", None) or getattr(reason, "strerror", None) or reason
                return CannotRun(message.format(address=self.address, what=reason_text), remedy)
        return CannotRun(f"{self.address} cannot be reached: {reason}.", "Check the address and the network.")


_REMEDIES: Final = {
    400: "A provisioned dashboard can only be changed where it is provisioned.",
    401: "The token may have expired or be of another Grafana. Make a new one for the service account.",
    403: "Give the token's service account the role Editor, or use another folder.",
    404: "Check the address; where Grafana is behind a proxy, its path belongs to it.",
    409: "Look in Grafana for a folder of the same name that the token may not see.",
    412: "Look in Grafana for a dashboard of the same name in this folder, and rename or remove it.",
    429: "Try again later.",
}
"""Remedies by HTTP status."""

_FAULTS: Final[tuple[tuple[type[Exception] | tuple[type[Exception], ...], str, str], ...]] = (
    (
        ssl.SSLCertVerificationError,
        "The certificate of {address} is not trusted: {what}.",
        "If a certificate authority of the site signed it, name that authority's file: SSL_CERT_FILE=FILE.",
    ),
    (ssl.SSLError, "No TLS with {address}: {what}.", "Check whether it speaks http or https."),
    (TimeoutError, f"No answer from {{address}} for {TIMEOUT_S} s.", "Check the network, and Grafana."),
    (
        ConnectionRefusedError,
        "Nothing listens at {address}: connection refused.",
        "Check address and port, and start Grafana.",
    ),
    (socket.gaierror, "{address}: {what}.", "Check the name of the server."),
    (
        (http.client.HTTPException, ConnectionError),
        "{address} closed the connection or does not speak HTTP.",
        "Check the port, and whether it speaks http or https.",
    ),
)
"""Connection errors, the more specific first."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, which would turn POST into GET."""

    def redirect_request(self, *_: object) -> None:
        return None
