"""`hdfs`: HDFS with WebHDFS, Hadoop's own name node and data nodes in one process (`lab/java`) on the first server."""

from __future__ import annotations

import hashlib
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path

from ioassay.lab import build_cache
from ioassay.lab.record import Target
from ioassay.lab.requirements import Built, Command, Requirement
from ioassay.lab.site import Host, Site
from ioassay.text.units import format_count
from ioassay.yaml_models.model import Field, Part
from ioassay.yaml_models.values import Count

_VERSION = "3.4.1"
_SOURCES = ("Cluster.java", "pom.xml")

_JDK, _JRE = "default-jdk-headless", "default-jre-headless"

_PORT = 9870
_USER = "lab"
_DIRECTORY = "/target"

# Keeps Java's files out of the machine's /tmp, and limits its memory.
_JVM = ["-Djava.net.preferIPv4Stack=true", "-XX:-UsePerfData", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xms64m"]
_HEAP_MIB, _HEAP_PER_DATANODE_MIB = 320, 64


class Hdfs(Part):
    """HDFS."""

    datanodes: Count = Field(
        default=1, description="Data nodes, on one disk. Blocks have one copy per data node, at most 3."
    )

    def requirements(self) -> list[Requirement]:
        needs = (Command("mvn", "maven"), Command("javac", _JDK))
        how = "its jars from Maven Central"
        return [Command("java", _JRE), Built(f"HDFS {_VERSION}", _place(), how, _build, needs)]

    def start(self, site: Site) -> Target:
        server = site.server
        daemon = server.start("hdfs", *self._command(server, site.disk("hdfs", "xfs", server=server)))
        # The name node answers much earlier, before it has a data node.
        daemon.until(lambda: daemon.has_said(f"webhdfs {_PORT}"))
        daemon.until(partial(_asks, server, server.name, "MKDIRS", "PUT"), "to make a directory")
        for client in site.clients:
            daemon.until(partial(_asks, client, server.name, "LISTSTATUS"), f"to show it to {client.name}")
        return Target(
            storage="hdfs",
            about=f"HDFS {_VERSION}, {format_count(self.datanodes, 'data node')}, over WebHDFS",
            kind="url",
            place=f"webhdfs://{server.name}:{_PORT}{_DIRECTORY}?user={_USER}",
            api="object",
        )

    def _command(self, server: Host, disk: str) -> list[str]:
        heap = f"-Xmx{_HEAP_MIB + _HEAP_PER_DATANODE_MIB * self.datanodes}m"
        main = ["-cp", f"{_place()}:{_place()}/jars/*", "Cluster"]
        where = [f"{disk}/hdfs", server.name, server.address, str(_PORT), str(self.datanodes)]
        return ["java", *_JVM, heap, "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", *main, *where]


def _asks(host: Host, server: str, operation: str, method: str = "GET") -> bool:
    """True if the name node executes an operation of `host`."""
    url = f"http://{server}:{_PORT}/webhdfs/v1{_DIRECTORY}?op={operation}&user.name={_USER}"
    return host.http_status(url, method) == 200


def _place() -> Path:
    """The directory of the build, which depends on the sources."""
    sources = files("ioassay.lab") / "java"
    digest = hashlib.sha256(b"".join((sources / name).read_bytes() for name in _SOURCES)).hexdigest()[:8]
    return build_cache.directory() / f"hdfs-{_VERSION}-{digest}"


def _build() -> None:
    build_cache.build(_place().name, _install)


def _install(bench: build_cache.Workbench) -> None:
    jars, classes = bench.result / "jars", bench.result
    # Maven's repository is only needed to find the jars, and is removed with the scratch directory.
    repository = bench.scratch / "maven"
    java = f"-Djava.io.tmpdir={bench.scratch} -XX:-UsePerfData"
    with as_file(files("ioassay.lab") / "java") as sources:
        bench.run(
            "mvn",
            "--batch-mode",
            "--quiet",
            "--file",
            str(sources / "pom.xml"),
            f"-Dmaven.repo.local={repository}",
            "dependency:copy-dependencies",
            f"-DoutputDirectory={jars}",
            MAVEN_OPTS=java,
        )
        compiled = ["-nowarn", "-cp", f"{jars}/*", "-d", str(classes), str(sources / "Cluster.java")]
        bench.run("javac", *(f"-J{option}" for option in java.split()), *compiled)
