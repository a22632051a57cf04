"""Setups of agents: YAML → `agent.json`, paths made absolute, files checked, secrets never shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from ioassay.errors import UsageError
from ioassay.monitoring.setup import SetupPart, default, load, share_of, to_standard_output, write
from ioassay.protocol.agent import Setup
from ioassay.yaml_models.source import SourceError, parse_source
from ioassay.yaml_models.validate import validate

SECRET = "hunter2"
PEM = "-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n"

ALL = """\
node: no
servers: {named: 5, job id: "%j:%u", root: captures}
contract: rules.yaml
spool: {directory: /var/spool/here, size: 2g}
sinks:
  - parquet: {directory: files, every: 2min}
  - json lines: {directory: ./lines}
  - elasticsearch:
      url: https://store:9200
      credentials: secret
      authorities: site.pem
      certificate: mine.pem
      prefix: site-io
  - influxdb: {url: "http://influx:8086", database: a b}
  - influxdb: {url: "http://influx:8086/x", organization: site, bucket: io}
  - prometheus: {url: "http://prometheus:9090", jobs: 10000, devices: 8}
  - prometheus exporter: {}
  - prometheus exporter: {listen: /run/ioassay.sock}
  - mistral plug-in: {command: [sh, -c, cat]}
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with all files that `ALL` names."""
    for name, text in {
        "secret": f"# of the store\nuser me\npassword {SECRET}\n",
        "site.pem": PEM,
        "mine.pem": PEM,
    }.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    (tmp_path / "rules.yaml").write_text("rules: [{monitor: a, calls: [read], count: 1/s}]")
    return tmp_path


SERIES = {"jobs": 64, "devices": 64}
FEWER = {"jobs": 10_000, "devices": 8}


def setup(place: Path, text: str) -> Path:
    (place / "setup.yaml").write_text(text)
    return place / "setup.yaml"


def problems(place: Path, text: str) -> str:
    with pytest.raises(SourceError) as error:
        load(setup(place, text), place, "node")
    return error.value.message


def test_every_sink_and_path_becomes_what_agents_read(place: Path) -> None:
    resolved = load(setup(place, ALL), place / "of agent", "node")
    server = {
        "url": "https://store:9200",
        "credentials": f"{place}/secret",
        "authorities": f"{place}/site.pem",
        "certificate": f"{place}/mine.pem",
    }
    plain = {"credentials": None, "authorities": None, "certificate": None}
    influx = {"kind": "influxdb", "server": {"url": "http://influx:8086", **plain}}
    assert resolved.setup == {
        "version": 2,
        "tables": "node",
        "node": False,
        "servers": {"named": 5, "job_id": "%j:%u", "root": f"{place}/captures"},
        "contract": None,
        "share": None,
        "spool": {"directory": "/var/spool/here", "most_bytes": 2 << 30},
        "sinks": [
            {"kind": "parquet", "directory": f"{place}/files", "file_s": 120},
            {"kind": "json-lines", "directory": f"{place}/lines"},
            {"kind": "elasticsearch", "server": server, "prefix": "site-io"},
            {**influx, "query": "db=a+b", "path": "/write"},
            {
                **influx,
                "server": {"url": "http://influx:8086/x", **plain},
                "query": "org=site&bucket=io",
                "path": "/api/v2/write",
            },
            {"kind": "prometheus-remote-write", "server": {"url": "http://prometheus:9090", **plain}, "series": FEWER},
            {"kind": "prometheus-exporter", "listen": "127.0.0.1:9464", "series": SERIES},
            {"kind": "prometheus-exporter", "listen": "/run/ioassay.sock", "series": SERIES},
            {"kind": "mistral-plugin", "command": ["sh", "-c", "cat"]},
        ],
    }
    assert [rule["label"] for rule in resolved.contract.contract["rules"]] == ["a"]


def test_the_default_setup_writes_parquet_files_beside_the_agents_setup(tmp_path: Path) -> None:
    defaults = default(tmp_path / "watch", "registered").setup
    assert defaults["sinks"] == [{"kind": "parquet", "directory": f"{tmp_path}/watch", "file_s": 60}]
    assert defaults["spool"] == {"directory": f"{tmp_path}/watch/spool", "most_bytes": 1 << 30}
    assert defaults["node"]
    assert defaults["tables"] == "registered"


def test_agents_of_nodes_read_file_servers_and_those_of_single_records_do_not(place: Path) -> None:
    assert default(place, "registered").setup["servers"] is None
    assert load(setup(place, ALL), place, "registered").setup["servers"] is None
    for tables in ("node", "none"):
        assert default(place, tables).setup["servers"] == {"named": 20, "job_id": None, "root": "/"}
    assert load(setup(place, "servers: {read: no}"), place, "node").setup["servers"] is None


def test_an_agent_always_has_a_contract_that_can_be_replaced(tmp_path: Path) -> None:
    agent = write(default(tmp_path, "node"), tmp_path / "new" / "place")
    document = TypeAdapter(Setup).validate_json(agent.read_bytes(), strict=True)
    rules = Path(document["contract"] or "")
    assert rules == tmp_path / "new" / "place" / "contract.json"
    assert json.loads(rules.read_text()) == {"rules": [], "version": 2}


def test_an_agent_of_the_view_prints_all_documents_and_keeps_rules_without_a_contract(place: Path) -> None:
    for rules in (None, place / "rules.yaml"):
        (place / "x").mkdir(exist_ok=True)
        document = TypeAdapter(Setup).validate_json(to_standard_output(place / "x", rules).read_bytes(), strict=True)
        assert (document["sinks"], document["spool"]) == ([{"kind": "json-lines", "directory": None}], None)
        assert document["contract"] == (None if rules is None else f"{place}/x/contract.json")


def test_rules_for_several_nodes_need_a_place_where_agents_share_them_out(place: Path) -> None:
    rules = place / "several.yaml"
    rules.write_text("rules: [{throttle: big, calls: [read], bandwidth: 1GB/s, scope: whole job}]")
    with pytest.raises(UsageError, match='"big" is for several nodes'):
        load(setup(place, "sinks: []"), place, "node", rules)
    resolved = load(setup(place, "share: limits"), place, "node", rules)
    assert resolved.setup["share"] == f"{place}/limits"
    # Agents of a record have one there.
    assert load(setup(place, "sinks: []"), place, "registered", rules).setup["share"] is None
    assert share_of(write(resolved, place / "agent").parent) == f"{place}/limits"
    assert share_of(place / "nowhere") is None
    assert not any("share" in note for note in resolved.notes)


def test_an_unusable_share_is_reported(place: Path) -> None:
    (place / "open").mkdir()
    (place / "open").chmod(0o777)
    (place / "file").touch()
    for share, message in (("open", "chmod 700"), ("file", "is no directory"), ("nowhere/limits", "is not there")):
        (note,) = load(setup(place, f"share: {share}"), place, "node").notes
        assert message in note
        assert "held to a part" in note


def test_an_explicit_contract_replaces_that_of_the_setup(place: Path) -> None:
    (place / "other.yaml").write_text("rules: []")
    assert not load(setup(place, ALL), place, "node", place / "other.yaml").contract.contract["rules"]


@pytest.mark.parametrize(
    "url", [f"https://me:{SECRET}@store:9200", f"https://{SECRET}@store", f"http://a/?token={SECRET}"]
)
def test_an_address_with_a_secret_is_refused_and_never_repeated(place: Path, url: str) -> None:
    message = problems(place, f"sinks:\n  - elasticsearch: {{url: '{url}'}}\n")
    assert "setup.yaml:2: sinks[0].elasticsearch.url: has a" in message
    assert SECRET not in message


def test_credentials_that_others_can_read_are_refused_with_a_chmod_command(place: Path) -> None:
    (place / "secret").chmod(0o640)
    message = problems(place, ALL)
    assert f"can be read by others (mode 0640); run: chmod 600 {place}/secret" in message
    assert "setup.yaml:10: sinks[2].elasticsearch.credentials" in message


@pytest.mark.parametrize(
    ("url", "notes"),
    [
        ("http://store:9200", 1),
        ("http://10.0.0.1", 1),
        ("http://127.0.0.1:9200", 0),
        ("http://127.0.0.2", 0),
        ("http://[::1]:9200", 0),
        ("http://localhost", 0),
        ("https://a", 0),
    ],
)
def test_unencrypted_credentials_have_a_note(place: Path, url: str, notes: int) -> None:
    text = f"sinks:\n  - elasticsearch: {{url: '{url}', credentials: secret}}\n"
    actual = load(setup(place, text), place, "node").notes
    assert [f"{url} sends the credentials unencrypted" in note for note in actual] == [True] * notes


@pytest.mark.parametrize("text", [SECRET, f"token {SECRET}\nuser me", f"password {SECRET}", "token", ""])
def test_incomplete_credentials_are_refused_and_never_repeated(place: Path, text: str) -> None:
    (place / "secret").write_text(text)
    message = problems(place, ALL)
    assert "holds no credentials; write a line `token TOKEN`" in message
    assert SECRET not in message


def test_each_unusable_file_is_a_separate_problem(place: Path) -> None:
    (place / "site.pem").write_text("x")
    (place / "mine.pem").unlink()
    (place / "files").write_text("")
    message = problems(place, ALL.replace("[sh,", "[./no-program,"))
    for part in (
        "holds no certificate",
        "mine.pem cannot be read",
        "nothing can be written below",
        "no-program is not",
    ):
        assert part in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sinks: [{}]", "is not one kind of sink"),
        ("sinks: [{parquet: {directory: a}, json lines: {directory: b}}]", "is not one kind of sink"),
        ("sinks: [{influxdb: {url: 'http://a'}}]", "write `database`, or `organization` and `bucket`"),
        ("sinks: [{influxdb: {url: 'http://a', bucket: b}}]", "`organization` and `bucket`"),
        ("sinks: [{prometheus exporter: {listen: '0.0.0.0:9464'}}]", "is not a loopback address with a port"),
        ("sinks: [{prometheus exporter: {jobs: 0}}]", "is out of range; use 1 to 100000"),
        ("sinks: [{prometheus exporter: {listen: '127.0.0.1'}}]", "is not a loopback address with a port"),
        ("sinks: [{elasticsearch: {url: 'ftp://a'}}]", "write https://HOST:PORT"),
        ("sinks: [{elasticsearch: {url: 'http://a:x'}}]", "write https://HOST:PORT"),
        ("sinks: [{elasticsearch: {url: 'http://a:0'}}]", "write https://HOST:PORT"),
        ("sinks: [{elasticsearch: {url: 'http://a', prefix: IO}}]", "cannot begin names of indices"),
        ("sinks: [{parquet: {directory: a, every: 1500ms}}]", "whole number of seconds"),
        ("servers: {named: 1001}", "use 0 to 1000"),
        ("servers: {named: -1}", "named"),
        ("servers: {job id: slurm}", "is not a format of job ids"),
        ("servers: yes", "servers"),
        ("sink: []", "unknown key; did you mean `sinks`?"),
        ("", "begin with `sinks:`"),
    ],
)
def test_an_invalid_setup_is_refused_with_a_remedy(place: Path, text: str, message: str) -> None:
    assert message in problems(place, text)


def test_a_listening_address_may_be_ipv6(place: Path) -> None:
    resolved = load(setup(place, "sinks: [{prometheus exporter: {listen: '[::1]:9464'}}]"), place, "node")
    assert resolved.setup["sinks"] == [{"kind": "prometheus-exporter", "listen": "[::1]:9464", "series": SERIES}]


@given(st.one_of(st.text(), st.lists(st.sampled_from([*ALL.splitlines(keepends=True), "{", ":", "- "])).map("".join)))
def test_any_text_is_a_setup_or_an_error_with_a_line(text: str) -> None:
    source_error = None
    try:
        validate(SetupPart, parse_source(text, "setup.yaml", "setup", "sinks").tree)
    except SourceError as error:
        source_error = error
    assert source_error is None or all(str(problem).startswith("setup.yaml:") for problem in source_error.problems)


def test_a_bundle_of_authorities_may_be_long_and_have_comments_in_any_encoding(place: Path) -> None:
    (place / "site.pem").write_bytes(b"# F\xf5tan\xfas\xedtv\xe1ny\n" * 10_000 + PEM.encode())
    text = "sinks: [{elasticsearch: {url: 'https://store', authorities: site.pem}}]"
    assert load(setup(place, text), place, "node").setup["sinks"]


def test_the_spool_of_an_agent_of_ours_must_be_a_place_that_we_can_write_to(place: Path) -> None:
    file = setup(place, "spool: {directory: rules.yaml/spool}")
    with pytest.raises(SourceError, match=r"setup.yaml:1: spool.directory: nothing can be written below"):
        load(file, place, "registered")
    assert load(file, place, "node").setup["spool"]  # the nodes may have it
