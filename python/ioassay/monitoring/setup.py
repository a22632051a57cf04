"""The setup of an agent: YAML → `agent.json`, with absolute paths and checked files.

Secrets stay in separate files: neither the YAML nor `agent.json` has any, and no message repeats the contents of a
credentials file. Not: rules (`contract`), sinks (`crates/agent`).
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final, Self
from urllib.parse import urlencode, urlsplit

from ioassay.errors import UsageError
from ioassay.monitoring import contract
from ioassay.monitoring.http_address import is_loopback, sends_in_clear
from ioassay.monitoring.rule_check import OVER_NODES
from ioassay.protocol import agent as protocol
from ioassay.protocol.contract import Contract
from ioassay.protocol.facts import PROTOCOL_VERSION
from ioassay.store.atomic import write_atomically
from ioassay.text import units
from ioassay.yaml_models.model import Field, Part, model_validator
from ioassay.yaml_models.source import Problem, Source, SourceError, locate, quoted, read_source, wrong_and_meant
from ioassay.yaml_models.validate import validate
from ioassay.yaml_models.values import Kind, Prose, Size, YesNo, between, parsed

NOUN: Final = "setup of an agent"
AGENT: Final = "agent.json"
CONTRACT: Final = "contract.json"

_NS: Final = 1_000_000_000
_DEFAULT_SPOOL_BYTES: Final = 1 << 30
_LONGEST_CREDENTIALS_BYTES: Final = 64 << 10
_FORM: Final = "write a line `token TOKEN`, or `user NAME` and `password PASSWORD`, or `api-key KEY`"


def _file(text: str) -> str:
    if not text or "\0" in text:
        raise ValueError("is empty; write the path of a file")
    return os.path.expanduser(text)


def _url(text: str) -> str:
    # The text may contain a password, so no message repeats it.
    try:
        parts = urlsplit(text)
        has_host, secret = bool(parts.hostname) and parts.port != 0, "@" in parts.netloc
    except ValueError:
        raise ValueError("is not an address; write https://HOST:PORT") from None
    if secret:
        raise ValueError("has a user or a password in it; put them into a file and name it with `credentials`")
    if parts.scheme not in ("http", "https") or not has_host or not text.isascii() or any(map(str.isspace, text)):
        raise ValueError("is not an address of a server; write https://HOST:PORT")
    if parts.query or parts.fragment:
        raise ValueError("has a query; write only https://HOST:PORT and a path, if there is one")
    return text


def _listen(text: str) -> str:
    if text.startswith("/"):
        return text
    host, _, port = text.rpartition(":")
    try:
        loopback = is_loopback(host) and 0 < units.parse_count(port) < 1 << 16
    except ValueError:
        loopback = False
    if not loopback:
        raise ValueError(
            f"{quoted(text)} is not a loopback address with a port; write 127.0.0.1:9464, or the path of a Unix socket"
        )
    return text


def _prefix(text: str) -> str:
    if (
        not text[:1].islower()
        or not text.isascii()
        or not all(character.islower() or character in "0123456789-_." for character in text)
    ):
        raise ValueError(
            f"{quoted(text)} cannot begin names of indices; use lower-case letters, digits, and - _ . behind"
        )
    return text


def _job_ids(text: str) -> str:
    if "%" not in text or not text.isprintable():
        raise ValueError(f"{quoted(text)} is not a format of job ids; write it as Lustre's `jobid_name` has it: %e.%u")
    return text


def _seconds(lowest: int, highest: int) -> object:
    def parse(text: str) -> int:
        duration = units.parse_duration_ns(text)
        if duration % _NS:
            raise ValueError(f"{quoted(text)} is not a whole number of seconds; write 10s or 1min")
        return duration

    return between(parse, lowest * _NS, highest * _NS, units.format_duration)


def _below(base: Path, path: str) -> Path:
    """An absolute path, without accessing the file system."""
    return Path(os.path.normpath(base / path))


def _program(base: Path, command: list[str]) -> str:
    """The program of a command: a name for `PATH`, or the absolute path of one with a `/`."""
    return str(_below(base, command[0])) if "/" in command[0] else command[0]


def _is_file(path: Path) -> os.stat_result:
    """Raises `ValueError` unless it is a readable regular file."""
    try:
        status = path.stat()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}; name a readable file") from None
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{path} is not a regular file; name a readable file")
    return status


def _is_private(path: Path) -> str:
    """The text of a file that only its owner can read. Raises `ValueError`, which does not repeat the text."""
    status = _is_file(path)
    if status.st_uid not in (os.geteuid(), 0):
        raise ValueError(
            f"{path} belongs to user {status.st_uid}, who could change it; run: chown {os.geteuid()} {path}"
        )
    if status.st_mode & 0o077:
        raise ValueError(f"{path} can be read by others (mode {status.st_mode & 0o7777:04o}); run: chmod 600 {path}")
    return _text(path)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LONGEST_CREDENTIALS_BYTES + 1).decode()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}; name a readable file") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not text; name another file") from None


def _check_credentials(path: Path) -> None:
    text = _is_private(path)
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    words = sorted(line[0] for line in lines if len(line) == 2)
    if len(words) != len(lines) or words not in (["token"], ["api-key"], ["password", "user"]):
        raise ValueError(f"{path} holds no credentials; {_FORM}")


def _check_authorities(path: Path) -> None:
    _is_file(path)
    try:
        content = path.read_bytes()  # bundles have comments in any encoding
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}; name a readable file") from None
    if b"-----BEGIN CERTIFICATE-----" not in content:
        raise ValueError(f"{path} holds no certificate in PEM form; name a file of certificates")


def _check_certificate(path: Path) -> None:
    text = _is_private(path)
    if "-----BEGIN CERTIFICATE-----" not in text or "PRIVATE KEY-----" not in text:
        raise ValueError(f"{path} has not both a certificate and its key; put both into the file, in PEM form")


def _check_directory(path: Path) -> None:
    """Checks that it is a writable directory, or that it can be created."""
    while not os.path.exists(path) and path != path.parent:
        path = path.parent
    if not os.path.isdir(path) or not os.access(path, os.W_OK | os.X_OK):
        raise ValueError(f"nothing can be written below {path}; name a directory that the agent may write to")


def _check_command(path: Path) -> None:
    if shutil.which(path) is None:
        raise ValueError(f"{path} is not an executable file; name a program")


_CHECKS: Final[dict[str, Callable[[Path], None]]] = {
    "credentials": _check_credentials,
    "authorities": _check_authorities,
    "certificate": _check_certificate,
    "directory": _check_directory,
    "command": _check_command,
}
"""Checks of the files of a sink, by key."""


File = Annotated[str, parsed(_file), Kind("path")]
Url = Annotated[str, parsed(_url), Kind("address, `https://HOST:PORT`")]
Listen = Annotated[str, parsed(_listen), Kind("loopback address with port, or path of a Unix socket")]
Prefix = Annotated[str, parsed(_prefix), Kind("lower-case name")]
Seconds = Annotated[int, _seconds(1, 86_400), Kind("duration")]
Named = Annotated[int, between(units.parse_count, 0, 1000, str), Kind("number from 0 to 1000")]
JobIds = Annotated[str, parsed(_job_ids), Kind("format of job ids, such as `%e.%u`")]


class ServerPart(Part):
    """How a server is reached."""

    url: Url = Field(description="Its address, without user and password.")
    credentials: File | None = Field(
        default=None,
        description="A file that only its owner can read (mode 600), with a line `token TOKEN`, or `user NAME` and "
        "`password PASSWORD`, or `api-key KEY`.",
    )
    authorities: File | None = Field(
        default=None, description="A file of certificates (PEM) that are trusted besides those of the system."
    )
    certificate: File | None = Field(
        default=None,
        description="A file with a certificate and its key (PEM, mode 600), by which the agent proves who it is.",
    )

    def server(self, base: Path) -> protocol.Server:
        """As in `agent.json`; paths are relative to `base`."""

        def path(text: str | None) -> str | None:
            return None if text is None else str(_below(base, text))

        return protocol.Server(
            url=self.url,
            credentials=path(self.credentials),
            authorities=path(self.authorities),
            certificate=path(self.certificate),
        )


class ParquetPart(Part):
    """Parquet files, a folder for each kind of documents. Needs no server."""

    directory: File = Field(description="Where they are written. It is created.")
    every: Seconds = Field(default=60 * _NS, description="How long documents are gathered for a file.")

    def sink(self, base: Path) -> protocol.Sink:
        """As in `agent.json`; paths are relative to `base`."""
        return protocol.SinkParquet(
            kind="parquet", directory=str(_below(base, self.directory)), file_s=self.every // _NS
        )


class JsonLinesPart(Part):
    """JSON lines, a file for each node. `ioassay watch DIRECTORY` follows them."""

    directory: File = Field(description="Where they are written, for several nodes on a shared file system.")

    def sink(self, base: Path) -> protocol.Sink:
        """As in `agent.json`; paths are relative to `base`."""
        return protocol.SinkJsonLines(kind="json-lines", directory=str(_below(base, self.directory)))


class ElasticsearchPart(ServerPart):
    """Elasticsearch or OpenSearch."""

    prefix: Prefix = Field(default="ioassay", description="Names of indices begin with it: `ioassay-io-2026.11.26`.")

    def sink(self, base: Path) -> protocol.Sink:
        """As in `agent.json`; paths are relative to `base`."""
        return protocol.SinkElasticsearch(kind="elasticsearch", server=self.server(base), prefix=self.prefix)


class InfluxdbPart(ServerPart):
    """InfluxDB, or VictoriaMetrics, which takes the same. Either `database`, or `organization` and `bucket`."""

    database: Prose | None = Field(default=None, description="The database (InfluxDB 1 and 3, VictoriaMetrics).")
    organization: Prose | None = Field(default=None, description="The organization (InfluxDB 2).")
    bucket: Prose | None = Field(default=None, description="The bucket (InfluxDB 2).")

    @model_validator(mode="after")
    def _says_where(self) -> Self:
        if (self.database is None) == (self.bucket is None) or (self.organization is None) != (self.bucket is None):
            raise ValueError("does not say where to write; write `database`, or `organization` and `bucket`")
        return self

    def sink(self, base: Path) -> protocol.Sink:
        """As in `agent.json`; paths are relative to `base`."""
        names = {"db": self.database, "org": self.organization, "bucket": self.bucket}
        return protocol.SinkInfluxdb(
            kind="influxdb",
            server=self.server(base),
            query=urlencode({name: value for name, value in names.items() if value is not None}),
            path="/api/v2/write" if self.bucket else "/write",
        )


_Names = Annotated[int, between(units.parse_count, 1, 100_000), Kind("whole number")]


class SeriesPart(Part):
    """How many names have series of their own; what is beyond is added up as `other`."""

    jobs: _Names = Field(
        default=64,
        description="How many jobs have series of their own. The others are added up as `other`, each of them wholly; "
        "one that nothing was heard of for a minute makes room. On a Lustre server: up to 10,000.",
    )
    devices: _Names = Field(
        default=64,
        description="How many names of each other kind have series of their own: block devices, network links, mounts, "
        "rules, phases of runs.",
    )

    @property
    def limits(self) -> protocol.SeriesLimits:
        """As in `agent.json`."""
        return protocol.SeriesLimits(jobs=self.jobs, devices=self.devices)


class PrometheusPart(SeriesPart, ServerPart):
    """Prometheus, by remote write. A `url` without a path means `/api/v1/write`."""

    def sink(self, base: Path) -> protocol.Sink:
        """As in `agent.json`; paths are relative to `base`."""
        return protocol.SinkPrometheusRemoteWrite(
            kind="prometheus-remote-write", server=self.server(base), series=self.limits
        )


class ExporterPart(SeriesPart):
    """An exporter that Prometheus scrapes."""

    listen: Listen = Field(default="127.0.0.1:9464", description="Where it answers.")

    def sink(self, _base: Path) -> protocol.Sink:
        """As in `agent.json`."""
        return protocol.SinkPrometheusExporter(kind="prometheus-exporter", listen=self.listen, series=self.limits)


class MistralPluginPart(Part):
    """A plug-in made for Mistral, which gets alerts on its standard input."""

    command: list[Prose] = Field(min_length=1, description="The program and its arguments.")

    def sink(self, base: Path) -> protocol.Sink:
        """As in `agent.json`; a program with a `/` in its name is relative to `base`."""
        return protocol.SinkMistralPlugin(
            kind="mistral-plugin",
            command=[_program(base, self.command), *self.command[1:]],
        )


AnySink = (
    ParquetPart | JsonLinesPart | ElasticsearchPart | InfluxdbPart | PrometheusPart | ExporterPart | MistralPluginPart
)


class SinkPart(Part):
    """A place that documents go to: one of these."""

    parquet: ParquetPart | None = Field(default=None, description="Parquet files. Needs no server.")
    json_lines: JsonLinesPart | None = Field(
        default=None, alias="json lines", description="A file of JSON lines for each node, for `ioassay watch DIR`."
    )
    elasticsearch: ElasticsearchPart | None = Field(default=None, description="Elasticsearch or OpenSearch.")
    influxdb: InfluxdbPart | None = Field(default=None, description="InfluxDB or VictoriaMetrics.")
    prometheus: PrometheusPart | None = Field(default=None, description="Prometheus, by remote write.")
    exporter: ExporterPart | None = Field(
        default=None, alias="prometheus exporter", description="An exporter that Prometheus scrapes."
    )
    mistral_plugin: MistralPluginPart | None = Field(
        default=None, alias="mistral plug-in", description="A plug-in made for Mistral."
    )

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if len(self._given()) != 1:
            raise ValueError("is not one kind of sink; begin each with `- ` and one kind, for example `- parquet:`")
        return self

    def _given(self) -> list[tuple[str, AnySink]]:
        parts = ((field.alias or name, getattr(self, name)) for name, field in type(self).model_fields.items())
        return [(name, part) for name, part in parts if part is not None]

    @property
    def chosen(self) -> tuple[str, AnySink]:
        """The kind of sink, and its part."""
        return self._given()[0]


class SpoolPart(Part):
    """Where documents wait while a store cannot be reached."""

    directory: File = Field(description="A directory of the agent's own on a local disk. It is created.")
    size: Size = Field(default=_DEFAULT_SPOOL_BYTES, description="The most that waits for each sink; older is dropped.")


class ServersPart(Part):
    """A file server's counters of its targets, by job and by client: Lustre's OSTs and MDTs, exports of NFS.

    An agent of a node finds by itself whether it is one.
    """

    read: YesNo = Field(default=True, description="Publish them.")
    named: Named = Field(
        default=20,
        description="Jobs of a target that are published by name: so many with most bytes and so many with most "
        "requests. The others are added up as `other jobs`; clients in the same way.",
    )
    job_id: JobIds | None = Field(
        default=None,
        alias="job id",
        description="How Lustre's clients make job ids, in the words of `jobid_name`: `%e.%u`, or `%j` for the "
        "scheduler's id alone. Without it: as `jobid_var` and `jobid_name` of the server say.",
    )
    root: File = Field(default="/", description="The directory with `proc` and `sys`: `/`, or one with copies of them.")

    def servers(self, base: Path) -> protocol.Servers | None:
        """As in `agent.json`; paths are relative to `base`."""
        if not self.read:
            return None
        return protocol.Servers(named=self.named, job_id=self.job_id, root=str(_below(base, self.root)))


class SetupPart(Part):
    """The setup of an agent. Paths in it are relative to its file."""

    node: YesNo = Field(default=True, description="Publish the node's own counters: disks, network, memory, and so on.")
    servers: ServersPart = Field(
        default=ServersPart(),
        description="What a file server counts by job and client. Agents of single records leave it out.",
    )
    contract: File | None = Field(
        default=None, description="A file with the [contract](contract.md). Without it: no rules, until they are set."
    )
    share: File | None = Field(
        default=None,
        description="A directory on a file system that all nodes share, where agents tell each other every second what "
        "jobs do that rules hold back over several nodes (`scope: whole job`, `scope: user`). It is created, for the "
        "agent's user alone (mode 700); its parent must exist. Without it such rules are refused. In a record it is "
        "`watch/limits`.",
    )
    sinks: list[SinkPart] = Field(
        default=[], description="Where documents go. Without any: Parquet files beside the setup that the agent reads."
    )
    spool: SpoolPart | None = Field(
        default=None, description="Where documents wait. Without it: at most 1 GiB beside what the agent reads."
    )


@dataclass(frozen=True)
class Resolved:
    """An agent's setup and its initial contract."""

    setup: protocol.Setup
    """Without `contract`, which `write` adds."""
    contract: contract.Loaded

    @property
    def notes(self) -> list[str]:
        """Notes for the user about either."""
        servers = [sink["server"] for sink in self.setup["sinks"] if "server" in sink]
        in_clear = [server["url"] for server in servers if server.get("credentials") and sends_in_clear(server["url"])]
        return [
            *(f"{url} sends the credentials unencrypted; use https where the store has it" for url in in_clear),
            *_unfit_share(self.setup["share"]),
            *map(str, self.contract.notes),
        ]


def load(path: Path, place: Path, tables: protocol.Tables, rules: Path | None = None) -> Resolved:
    """The setup in a file, for an agent whose own directory is `place`; `rules` replaces the contract of the setup.

    Raises `SourceError` with every problem that can be found without the stores.
    """
    source = read_source(path, NOUN, "sinks")
    model, base = validate(SetupPart, source.tree), path.absolute().parent
    problems = list(_problems(model, source, base, is_ours=tables != "node"))
    if problems:
        raise SourceError(problems)
    return _resolved(model, base, place, tables, rules)


def default(place: Path, tables: protocol.Tables, rules: Path | None = None) -> Resolved:
    """The default setup without a server: Parquet files in `place`. Raises `SourceError` for the contract."""
    return _resolved(SetupPart(), place, place, tables, rules)


def _resolved(model: SetupPart, base: Path, place: Path, tables: protocol.Tables, rules: Path | None) -> Resolved:
    place = place.absolute()
    sinks = [sink.chosen[1].sink(base) for sink in model.sinks]
    spool = model.spool or SpoolPart(directory=str(place / "spool"))
    rules = rules or (_below(base, model.contract) if model.contract else None)
    loaded = contract.load(rules) if rules else contract.Loaded(Contract(version=PROTOCOL_VERSION, rules=[]), [])
    share = str(_below(base, model.share)) if model.share else None
    if tables != "registered":  # agents of a record share limits in the record
        check_share(loaded.contract, share)
    return Resolved(
        protocol.Setup(
            version=PROTOCOL_VERSION,
            tables=tables,
            node=model.node,
            servers=None if tables == "registered" else model.servers.servers(base),
            contract=None,
            share=share,
            sinks=sinks or [protocol.SinkParquet(kind="parquet", directory=str(place), file_s=60)],
            spool=protocol.Spool(directory=str(_below(base, spool.directory)), most_bytes=spool.size),
        ),
        loaded,
    )


def check_share(rules: Contract, share: str | None) -> None:
    """Raises `UsageError` for rules over several nodes if the agents have no directory to share limits."""
    over_nodes = [rule["label"] for rule in rules["rules"] if rule["scope"] in OVER_NODES]
    if over_nodes and share is None:
        raise UsageError(
            f"The rule {quoted(over_nodes[0])} is for several nodes, and the agents have no directory to share it out.",
            "Add `share: DIRECTORY` to the setup, on a file system of all nodes, or use `scope: job` or `scope: node`.",
        )


def _unfit_share(share: str | None) -> Iterator[str]:
    """Why agents of this node cannot share limits there; each would then get a part of a limit."""
    if share is None:
        return
    path, consequence = Path(share), "until then, each node is held to a part of every limit by itself"
    if path.is_dir():
        if (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077:
            yield (
                f"share: {share} has mode {mode:04o}, agents use only a closed one; run: chmod 700 {share}; "
                f"{consequence}"
            )
    elif path.exists():
        yield f"share: {share} is no directory; name one that all nodes share; {consequence}"
    elif not path.parent.is_dir():
        yield (
            f"share: {path.parent} is not there, and agents make only the last part of a path; create it; {consequence}"
        )


def share_of(place: Path) -> str | None:
    """The directory in which the agent with files in `place` shares limits; `None` also if its setup is unreadable."""
    try:
        share = json.loads((place / AGENT).read_bytes()).get("share")
    except (OSError, ValueError, AttributeError):
        return None
    return share if isinstance(share, str) else None


def write(resolved: Resolved, place: Path) -> Path:
    """Writes `agent.json` and `contract.json` into a directory, which is created. Returns the path of `agent.json`."""
    place = place.absolute()
    place.mkdir(parents=True, exist_ok=True)
    write_atomically(place / CONTRACT, contract.document(resolved.contract.contract))
    return _write_agent({**resolved.setup, "contract": str(place / CONTRACT)}, place)


def to_standard_output(place: Path, rules: Path | None) -> Path:
    """As `write`, for an agent of this node that prints all documents on its standard output, without a spool.

    Without rules, it does not change those of other agents. Raises `SourceError` for the contract.
    """
    defaults = default(place, "node", rules)
    lines = protocol.SinkJsonLines(kind="json-lines", directory=None)
    setup: protocol.Setup = {**defaults.setup, "sinks": [lines], "spool": None}
    return _write_agent(setup, place) if rules is None else write(replace(defaults, setup=setup), place)


def _write_agent(setup: protocol.Setup, place: Path) -> Path:
    write_atomically(place / AGENT, (json.dumps(setup, indent=2) + "\n").encode())
    return place / AGENT


def _problems(model: SetupPart, source: Source, base: Path, *, is_ours: bool) -> Iterator[Problem]:
    """Problems with the files in the setup. If the agent `is_ours`, it runs with our permissions."""

    def problem(check: Callable[[Path], None], path: Path, *path_in_source: str | int) -> Iterator[Problem]:
        try:
            check(path)
        except ValueError as error:
            yield locate(source.tree, [*path_in_source]).problem(*wrong_and_meant(error))

    for number, sink in enumerate(model.sinks):
        name, part = sink.chosen
        for key, check in _CHECKS.items():
            value = getattr(part, key, None)
            if value is not None:
                path = Path(_program(base, value)) if isinstance(value, list) else _below(base, value)
                yield from problem(check, path, "sinks", number, name, key)
    if is_ours and model.spool:
        yield from problem(_check_directory, _below(base, model.spool.directory), "spool", "directory")
