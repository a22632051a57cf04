"""Real stores for tests of sinks, each in a directory and on a port of loopback of its own.

`python -m ioassay.testing.stores` installs them once, and starts no service of the machine: Debian's packages are
unpacked, OpenSearch comes from Maven Central.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

PLACE = Path(__file__).parents[3] / "target/stores"
"""Where they are installed."""

_PACKAGES = ("influxdb", "prometheus", "victoria-metrics")
_OPENSEARCH = PLACE / "opensearch"
_SOURCES = Path(__file__).parent / "opensearch"
_JVM = ["-Xms128m", "-XX:+UseSerialGC", "-XX:-UsePerfData"]
_SMALL = "256m"
"""The memory of OpenSearch in tests."""

_START_S = 120
_ANSWER_S = 60


@dataclass
class Store:
    """A store that is at work, or can be again."""

    name: str
    command: Sequence[object]
    port: int
    ready: str
    """A request that it answers with success once it can be used."""
    directory: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """Its process."""
        assert self._process is not None
        return self._process

    def start(self) -> None:
        """Starts it, and returns when it can be used."""
        log = self.directory / "log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                # It ends with the tests, also if they are killed.
                ["setpriv", "--pdeathsig", "KILL", *map(str, self.command)],
                cwd=self.directory,
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        deadline = time.monotonic() + _START_S
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"{self.name} does not start: {log.read_text()[-2000:]}")
            time.sleep(0.05)

    def kill(self) -> None:
        """Ends it at once. What it has confirmed it must still have when it is started again."""
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        """Lets it accept connections and answer nothing."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets it go on."""
        self.process.send_signal(signal.SIGCONT)

    def ask(self, path: str, data: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
        """The answer. Raises `urllib.error.HTTPError`."""
        request = urllib.request.Request(self.url + path, data=data, headers=dict(headers or {}))
        with urllib.request.urlopen(request, timeout=_ANSWER_S) as answer:
            body: bytes = answer.read()
            return body

    def _answers(self) -> bool:
        try:
            self.ask(self.ready)
        except OSError:
            return False
        return True


def opensearch(directory: Path, heap: str = _SMALL) -> Store:
    """OpenSearch, which Elasticsearch is like."""
    port = free_port()
    # What compiles quickly is enough for a test.
    quick = ["-XX:TieredStopAtLevel=1"] if heap == _SMALL else []
    java = [
        "java",
        *_JVM,
        f"-Xmx{heap}",
        *quick,
        f"-Djava.io.tmpdir={directory}",
        "-cp",
        f"{_OPENSEARCH}/classes:{_OPENSEARCH}/jars/*",
    ]
    command = [*java, "Server", directory / "data", str(port)]
    return Store("opensearch", command, port, "/_cluster/health?wait_for_status=yellow&timeout=1s", directory)


def influxdb(directory: Path, with_users: bool = False) -> Store:
    """InfluxDB 1, the best judge of line protocol."""
    port, other = free_port(), free_port()
    environment = {
        "INFLUXDB_REPORTING_DISABLED": "true",
        "INFLUXDB_BIND_ADDRESS": f"127.0.0.1:{other}",
        "INFLUXDB_META_DIR": str(directory / "meta"),
        "INFLUXDB_DATA_DIR": str(directory / "data"),
        "INFLUXDB_DATA_WAL_DIR": str(directory / "wal"),
        "INFLUXDB_HTTP_BIND_ADDRESS": f"127.0.0.1:{port}",
        "INFLUXDB_HTTP_AUTH_ENABLED": str(with_users).lower(),
    }
    command = [PLACE / "usr/bin/influxd", "run", "-config", "/dev/null"]
    return Store("influxdb", command, port, "/ping", directory, environment)


def prometheus(directory: Path, exporter: str | None = None) -> Store:
    """Prometheus, which takes remote write, and asks an exporter once a second."""
    port = free_port()
    directory.mkdir(parents=True, exist_ok=True)
    settings = directory / "prometheus.yml"
    settings.write_text(
        "global: {scrape_interval: 1s}\n"
        + (
            f"scrape_configs: [{{job_name: agent, static_configs: [{{targets: ['{exporter}']}}]}}]\n"
            if exporter
            else ""
        )
    )
    command = [
        PLACE / "usr/bin/prometheus",
        f"--config.file={settings}",
        f"--storage.tsdb.path={directory / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--web.enable-remote-write-receiver",
    ]
    return Store("prometheus", command, port, "/-/ready", directory)


def victoria_metrics(directory: Path) -> Store:
    """VictoriaMetrics, which takes line protocol and remote write, and says nothing of malformed lines."""
    port = free_port()
    command = [
        PLACE / "usr/bin/victoria-metrics",
        f"-storageDataPath={directory / 'data'}",
        f"-httpListenAddr=127.0.0.1:{port}",
        "-search.latencyOffset=0s",
    ]
    return Store("victoria-metrics", command, port, "/health", directory)


def missing() -> str | None:
    """The stores that are not installed."""
    programs = [PLACE / "usr/bin" / program for program in ("influxd", "prometheus", "victoria-metrics")]
    needed = [*programs, _OPENSEARCH / "classes/Server.class", _OPENSEARCH / "jars"]
    absent = [str(path) for path in needed if not path.exists()] + ([] if shutil.which("java") else ["java"])
    return f"{', '.join(absent)} (make stores)" if absent else None


@contextmanager
def running(store: Store) -> Iterator[Store]:
    """Starts a store, and ends it with what is done."""
    store.directory.mkdir(parents=True, exist_ok=True)
    store.start()
    try:
        yield store
    finally:
        store.kill()


def free_port() -> int:
    """A free port of the loopback address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _install() -> None:
    """Installs what is missing."""
    packages = PLACE / "packages"
    packages.mkdir(parents=True, exist_ok=True)
    if not all((PLACE / "usr/bin" / program).exists() for program in ("influxd", "prometheus", "victoria-metrics")):
        subprocess.run(["apt-get", "--quiet", "download", *_PACKAGES], cwd=packages, check=True)
        for package in packages.glob("*.deb"):
            subprocess.run(["dpkg", "--extract", package, PLACE], check=True)
            package.unlink()
    if not (_OPENSEARCH / "jars").exists():
        jars = _OPENSEARCH / "new"
        copy = ["dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
        subprocess.run(["mvn", "--batch-mode", "--quiet", "--file", _SOURCES / "pom.xml", *copy], check=True)
        jars.rename(_OPENSEARCH / "jars")
    classes = _OPENSEARCH / "classes"
    subprocess.run(
        ["javac", "-nowarn", "-cp", f"{_OPENSEARCH}/jars/*", "-d", classes, _SOURCES / "Server.java"], check=True
    )


if __name__ == "__main__":
    _install()
    if still := missing():
        sys.exit(f"not installed: {still}")
