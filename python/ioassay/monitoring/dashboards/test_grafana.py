"""Installing, with a server that answers as the documentation of Grafana's HTTP API says."""

from __future__ import annotations

import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ioassay.errors import CannotRun, UsageError
from ioassay.monitoring.dashboards import library
from ioassay.monitoring.dashboards.grafana import Grafana, read_token

# It listens, which tests that look at the whole machine take for something that a lab has left.
pytestmark = pytest.mark.machine

TOKEN = "glsa_kept-to-ourselves"


@dataclass
class Server:
    """A Grafana of one organisation, beneath a path as behind a proxy."""

    folders: list[dict[str, Any]] = field(default_factory=list)
    dashboards: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)
    answer_instead: Callable[[str, str], tuple[int, dict[str, str], bytes] | None] = lambda _method, _path: None
    address: str = ""

    def answer(self, method: str, path: str, token: str | None, body: Any) -> tuple[int, dict[str, str], bytes]:
        self.requests.append((method, path, token))
        if (instead := self.answer_instead(method, path)) is not None:
            return instead
        status, document = self._api(method, path, token, body)
        return status, {"Content-Type": "application/json; charset=UTF-8"}, json.dumps(document).encode()

    def _api(self, method: str, path: str, token: str | None, body: Any) -> tuple[int, Any]:
        if token != f"Bearer {TOKEN}":
            return 401, {"message": "Invalid API key" if token else "Unauthorized"}
        match method, path.partition("?")[0]:
            case "GET", "/grafana/api/folders":
                return 200, self.folders
            case "POST", "/grafana/api/folders":
                if any(folder["title"] == body["title"] for folder in self.folders):
                    return 409, {"message": "a folder with that name already exists"}
                self.folders.append({"id": len(self.folders), "uid": f"f{len(self.folders)}", "title": body["title"]})
                return 200, self.folders[-1]
            case "POST", "/grafana/api/dashboards/db":
                return self._save(body)
        return 404, {"message": "Not found"}

    def _save(self, body: Any) -> tuple[int, Any]:
        dashboard = body["dashboard"]
        uid = dashboard["uid"]
        if body["folderUid"] not in [folder["uid"] for folder in self.folders]:
            return 400, {"message": "folder not found"}
        if uid in self.dashboards and not body["overwrite"]:
            return 412, {"message": "A dashboard with the same uid already exists", "status": "name-exists"}
        version = self.dashboards.get(uid, {}).get("version", 0) + 1
        self.dashboards[uid] = dashboard | {"version": version, "folder": body["folderUid"]}
        return 200, {"id": 1, "uid": uid, "url": f"/d/{uid}/x", "status": "success", "version": version, "slug": "x"}


@contextmanager
def serving(server: Server, context: ssl.SSLContext | None = None) -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        def do(self) -> None:
            size = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(size)) if size else None
            status, headers, content = server.answer(self.command, self.path, self.headers.get("Authorization"), body)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        scheme = "http"
        if context is not None:
            scheme = "https"
            listener.socket = context.wrap_socket(listener.socket, server_side=True)
        server.address = f"{scheme}://127.0.0.1:{listener.server_address[1]}/grafana/"
        thread = threading.Thread(target=listener.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            listener.shutdown()
            thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(Server()) as grafana:
        yield grafana


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text(TOKEN + "\n")
    return file


def install(server: Server, token: str | None = TOKEN) -> list[str]:
    grafana = Grafana(server.address, token)
    folder = grafana.folder("Storage & I/O")
    return [grafana.save(library.dashboard(name, "prometheus"), folder) for name in library.NAMES]


def test_dashboards_are_saved_in_a_folder_that_is_created(server: Server) -> None:
    addresses = install(server)
    assert [folder["title"] for folder in server.folders] == ["Storage & I/O"]
    assert sorted(server.dashboards) == sorted(f"ioassay-{name}-prometheus" for name in library.NAMES)
    assert addresses[0] == f"{server.address}d/ioassay-cluster-prometheus"
    assert {dashboard["folder"] for dashboard in server.dashboards.values()} == {"f0"}


def test_installing_again_replaces_what_was_installed(server: Server) -> None:
    server.folders.append({"id": 7, "uid": "other", "title": "Other"})
    assert install(server) == install(server)
    assert [folder["title"] for folder in server.folders] == ["Other", "Storage & I/O"]
    assert {dashboard["version"] for dashboard in server.dashboards.values()} == {2}
    assert len(server.dashboards) == len(library.NAMES)


def test_a_folder_is_found_among_many_pages_of_folders(server: Server) -> None:
    many = [{"uid": f"m{number}", "title": f"Folder {number}"} for number in range(1500)]

    def pages(method: str, path: str) -> tuple[int, dict[str, str], bytes] | None:
        if method == "POST":
            return None
        page = int(path.rsplit("page=", 1)[1])
        return 200, {}, json.dumps(many[(page - 1) * 1000 : page * 1000]).encode()

    server.answer_instead = pages
    assert Grafana(server.address, TOKEN).folder("Folder 1400") == "m1400"
    assert Grafana(server.address, TOKEN).folder("Folder 1500") == "f0"


def answers(
    status: int, body: bytes, headers: dict[str, str] | None = None
) -> Callable[[str, str], tuple[int, dict[str, str], bytes]]:
    return lambda _method, _path: (status, headers or {}, body)


@pytest.mark.parametrize(
    ("status", "body", "words", "remedy"),
    [
        (
            400,
            b'{"message": "Cannot save provisioned dashboard"}',
            "Cannot save provisioned",
            "where it is provisioned",
        ),
        (403, b'{"message": "You will need folders:create"}', "(403: You will need folders:create)", "Editor"),
        (404, b"<html>no</html>", "(404: Not Found)", "its path belongs to it"),
        (412, b'{"message": "name exists", "status": "name-exists"}', "(412: name exists)", "rename or remove"),
        (409, b'{"message": "folder exists"}', "(409: folder exists)", "may not see"),
        (429, b"", "(429: Too Many Requests)", "later"),
        (503, b"\xff", "(503: Service Unavailable)", "later"),
        (200, b"<html>log in</html>", "does not answer as Grafana does", "its path belongs to it"),
        (200, b'{"some": "thing"}', "does not answer as Grafana does", "its path belongs to it"),
        (200, b"[1]", "does not answer as Grafana does", "its path belongs to it"),
    ],
)
def test_a_refusal_of_grafana_is_reported_with_a_remedy(
    server: Server, status: int, body: bytes, words: str, remedy: str
) -> None:
    server.answer_instead = answers(status, body)
    with pytest.raises(CannotRun) as caught:
        install(server)
    assert words in caught.value.message
    assert remedy in caught.value.remedy


def test_a_server_that_repeats_a_page_of_folders_is_not_asked_for_ever(server: Server) -> None:
    page = json.dumps([{"uid": f"f{number}", "title": f"{number}"} for number in range(1000)]).encode()
    server.answer_instead = answers(200, page)
    with pytest.raises(CannotRun, match="does not answer as Grafana does"):
        install(server)
    assert len(server.requests) == 100


@pytest.mark.parametrize(
    ("address", "token", "shows"),
    [
        ("http://grafana.example", TOKEN, True),
        ("http://grafana.example", None, False),
        ("https://grafana.example", TOKEN, False),
        ("http://127.0.0.1:3000", TOKEN, False),
    ],
)
def test_an_unencrypted_connection_is_recognized(address: str, token: str | None, shows: bool) -> None:
    assert Grafana(address, token).shows_token == shows


def test_a_dashboard_that_is_refused_is_named(server: Server) -> None:
    body = b'{"message": "plug-in", "status": "plugin-dashboard"}'
    server.answer_instead = lambda method, path: (412, {}, body) if path.endswith("/db") else None
    with pytest.raises(CannotRun, match=r"saving the dashboard ioassay: Cluster \(Prometheus\) \(412: plug-in\)"):
        install(server)


@pytest.mark.parametrize(("token", "remedy"), [(None, "--token-file FILE"), ("glsa_wrong", "Make a new one")])
def test_a_missing_or_wrong_token_is_reported_and_not_shown(server: Server, token: str | None, remedy: str) -> None:
    with pytest.raises(CannotRun) as caught:
        install(server, token)
    assert "(401: " in caught.value.message
    assert remedy in caught.value.remedy
    assert "glsa" not in caught.value.message + caught.value.remedy


def test_a_token_that_grafana_repeats_is_not_shown(server: Server) -> None:
    server.answer_instead = answers(401, json.dumps({"message": f"no such token: {TOKEN}"}).encode())
    with pytest.raises(CannotRun) as caught:
        install(server)
    assert "no such token: [token]" in caught.value.message


def test_a_redirect_is_not_followed(server: Server) -> None:
    with serving(Server()) as other:
        server.answer_instead = answers(302, b"", {"Location": f"{other.address}login"})
        with pytest.raises(CannotRun) as caught:
            install(server)
        assert other.requests == []
        assert f"{other.address}login" in caught.value.remedy


def test_an_unreachable_server_is_reported(server: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = f"http://127.0.0.1:{listener.getsockname()[1]}"
    unreachable = {
        closed: "connection refused",
        "http://grafana.invalid:3000": "grafana.invalid:3000: ",
        server.address.replace("http", "https"): "No TLS with",
    }
    for address, words in unreachable.items():
        with pytest.raises(CannotRun, match=words):
            Grafana(address, TOKEN).folder("ioassay")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"

        def hang_up() -> None:
            connection, _ = listener.accept()
            connection.close()

        hanging_up = threading.Thread(target=hang_up)
        hanging_up.start()
        with pytest.raises(CannotRun, match="closed the connection"):
            Grafana(address, TOKEN).folder("ioassay")
        hanging_up.join()


def test_an_untrusted_certificate_is_reported(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes the certificate, is not installed")
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=grafana"]
    subprocess.run([*make, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with serving(Server(), context) as server, pytest.raises(CannotRun) as caught:
        install(server)
    assert "is not trusted: self-signed certificate" in caught.value.message
    assert "SSL_CERT_FILE" in caught.value.remedy
    assert server.requests == []


@pytest.mark.parametrize(
    "address",
    ["grafana:3000", "ftp://grafana", "https://", "http://grafana:port", "http://user:secret@grafana", "http://a?b=c"],
)
def test_an_invalid_address_is_refused_and_no_password_shown(address: str) -> None:
    with pytest.raises(UsageError) as caught:
        Grafana(address, None)
    assert "secret" not in caught.value.message + caught.value.remedy


def test_a_token_is_read_from_a_private_file(token_file: Path) -> None:
    assert read_token(token_file) == TOKEN
    token_file.write_text(f"token {TOKEN}\n")
    assert read_token(token_file) == TOKEN


@pytest.mark.parametrize("content", ["", "\n", "two words", f"{TOKEN}\n{TOKEN}", "ü", "x" * 5000])
def test_a_file_without_a_token_is_refused_and_not_shown(token_file: Path, content: str) -> None:
    token_file.write_text(content)
    with pytest.raises(UsageError, match="does not hold a token") as caught:
        read_token(token_file)
    assert TOKEN not in caught.value.message + caught.value.remedy


def test_a_token_that_others_can_use_is_refused(token_file: Path) -> None:
    for mode in (0o640, 0o604, 0o620):
        token_file.chmod(mode)
        with pytest.raises(UsageError, match="can be used by other users") as caught:
            read_token(token_file)
        assert "chmod 600" in caught.value.remedy
    if os.geteuid() == 0:
        token_file.chmod(0o600)
        os.chown(token_file, 12345, -1)
        with pytest.raises(UsageError, match="belongs to another user"):
            read_token(token_file)


def test_a_token_path_that_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    for path, words in ((tmp_path / "pipe", "is not a regular file"), (tmp_path / "missing", "cannot be read")):
        with pytest.raises(UsageError, match=words):
            read_token(path)


def ioassay(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ioassay", "dashboards", *arguments], capture_output=True, text=True, check=False
    )


def test_the_command_installs_for_a_data_source(server: Server, token_file: Path) -> None:
    arguments = ("install", "--grafana", server.address, "--token-file", token_file, "--source", "opensearch")
    result = ioassay(*arguments, "--source-uid", "site-store", "--folder", "Site")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.split() == [f"{server.address}d/ioassay-{name}-opensearch" for name in library.NAMES]
    assert [folder["title"] for folder in server.folders] == ["Site"]
    for dashboard in server.dashboards.values():
        source = next(variable for variable in dashboard["templating"]["list"] if variable["name"] == "source")
        assert source["current"]["value"] == "site-store"
        assert source["query"] == "grafana-opensearch-datasource"


def test_the_command_reports_errors(server: Server, token_file: Path) -> None:
    server.answer_instead = answers(403, b'{"message": "no"}')
    refused = ioassay("install", "--grafana", server.address, "--token-file", token_file)
    assert refused.returncode == 3
    assert "(403: no)" in refused.stderr
    assert TOKEN not in refused.stdout + refused.stderr
    token_file.chmod(0o644)
    assert ioassay("install", "--grafana", server.address, "--token-file", token_file).returncode == 2


def test_the_command_shows_and_lists() -> None:
    shown = ioassay("show", "node", "--source", "prometheus")
    assert json.loads(shown.stdout) == library.dashboard("node", "prometheus")
    assert [line.split()[0] for line in ioassay("list").stdout.splitlines()] == [*library.NAMES]
    for wrong in (("show", "nodes"), ("show", "node", "--source", "influxdb")):
        refused = ioassay(*wrong)
        assert refused.returncode == 2
        assert "Use one of" in refused.stderr
