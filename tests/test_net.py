"""The network's ceiling: measured with iperf3 in a lab with limited links, and compared with the rates of runs."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ioassay.analysis.ceilings import ABOVE, doubted, limits
from ioassay.lab.requirements import Command as Needed
from ioassay.store.net_directory import read_net
from ioassay.store.net_document import NetDocument
from ioassay.store.run_directory import load

from .support import Command, ioassay, study, until, up, workload

pytestmark = pytest.mark.machine

NAME = f"nettest-{os.getpid()}"
LINK_BITS_PER_S = 200_000_000

WARM = "[write, {cold-cache: [drop-caches]}, read, {read: {name: warm}}]"
"""The second read finds everything in memory."""


@pytest.fixture(scope="module")
def lab() -> Iterator[str]:
    """GlusterFS for two hosts, with links of `LINK_BITS_PER_S`. Its name."""
    needed = [Needed("iperf3", "iperf3")]
    with up("gluster", NAME, "--hosts", "2", "--link", f"{LINK_BITS_PER_S // 1000}kbit", needed=needed) as name:
        yield name


@pytest.fixture(scope="module")
def ceilings(lab: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `ioassay net` left of that lab."""
    out = tmp_path_factory.mktemp("net") / "net"
    code, table, err = ioassay(*_net(lab, out, duration="4s"))
    assert code == 0, err
    assert "2 clients → 1 server" in table
    assert "Gbit/s" in table
    return out


def _net(lab: str, out: Path, *more: str, duration: str) -> list[str | Path]:
    ends = f"lab:{lab}"
    return ["net", "--clients", ends, "--servers", ends, "--duration", duration, "--out", out, *more]


def _is_plausible(document: NetDocument) -> bool:
    """Every rate is what the links carry, but for headers, and for a machine that has other work to do."""
    rates = [measured.rate_bits_per_s for measured in document.measurements]
    return all(LINK_BITS_PER_S / 2 < rate < 1.025 * LINK_BITS_PER_S for rate in rates)


def _iperf3_runs(lab: str) -> bool:
    return ioassay("lab", "exec", f"{lab}/server1", "pgrep", "iperf3")[0] == 0


def test_limited_links_are_measured_in_both_directions(lab: str, ceilings: Path) -> None:
    document = read_net(ceilings)
    assert document.state == "complete"
    assert _is_plausible(document), document.measurements
    assert [measured.name for measured in document.measurements] == [
        "1 client → 1 server",
        "1 server → 1 client",
        "2 clients → 1 server",
        "1 server → 2 clients",
    ]
    assert [host.stated_bits_per_s for host in document.clients] == [LINK_BITS_PER_S] * 2
    assert not _iperf3_runs(lab)


def test_the_output_of_iperf3_is_kept_beside_the_rates(ceilings: Path) -> None:
    for measured in read_net(ceilings).measurements:
        for flow in measured.flows:
            ends = [json.loads((ceilings / f"{flow.files}-{end}.json").read_text()) for end in ("client", "server")]
            assert all("sum_received" in end["end"] for end in ends)
            assert not list(ceilings.glob(f"{flow.files}*.stderr.txt")), "what is empty is not kept"


def test_rates_have_a_share_of_the_ceiling_and_cached_reads_are_detected(
    lab: str, ceilings: Path, tmp_path: Path
) -> None:
    file = study(tmp_path, workload("small", total="8MiB", steps=WARM))
    out = tmp_path / "run"
    code, _, err = ioassay("run", file, "--target", f"lab:{lab}", "--ceilings", ceilings, "--out", out)
    assert code == 1, err
    run = doubted(load(out))
    shares = {place[1]: limit.share for place, limit in limits(run).items()}
    assert 0 < shares["write"] < 1.1
    assert 0 < shares["read"] < 1.1
    assert shares["warm"] > 1.1
    above = run.doubts.filter(kind=ABOVE)
    assert above["phase"].to_list() == ["warm"]
    valid = dict(zip(run.measurements["phase"], run.measurements["valid"], strict=True))
    assert valid == {"write": True, "read": True, "warm": False}
    page = (out / "report.html").read_text()
    assert "The network&#39;s ceilings" in page or "The network's ceilings" in page
    assert "Above network ceiling" in page


def test_ceilings_may_come_with_the_report(lab: str, ceilings: Path, tmp_path: Path) -> None:
    file = study(tmp_path, workload("small", total="8MiB", steps=WARM))
    out = tmp_path / "run"
    assert ioassay("run", file, "--target", f"lab:{lab}", "--out", out)[0] == 0
    plain = json.loads(ioassay("report", out, "--format", "json")[1])
    with_them = json.loads(ioassay("report", out, "--format", "json", "--ceilings", ceilings / "net.json")[1])
    assert {row["ceiling_share"] for row in plain["measurements"]} == {None}
    assert all(row["ceiling_share"] > 0 for row in with_them["measurements"])
    assert [row["kind"] for row in with_them["doubts"] if row["kind"] == ABOVE] == [ABOVE]
    assert load(out).document.ceilings is None, "a report changes no run"


def test_hosts_are_reached_by_ssh(lab: str, tmp_path: Path) -> None:
    out = tmp_path / "net"
    inside = [sys.executable, "-m", "ioassay", "net", "--clients", "client1,client2", "--servers", "server1"]
    options = ["--duration", "3s", "--patterns", "n-1", "--directions", "to-servers", "--json", "--out", str(out)]
    code, printed, err = ioassay("lab", "exec", f"{lab}/client1", *inside, *options)
    assert code == 0, err
    document = NetDocument.model_validate_json(printed)
    assert document == read_net(out)
    assert document.servers[0].address == "10.86.0.3"
    assert _is_plausible(document), document.measurements
    assert not _iperf3_runs(lab)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_iperf3_ends_with_the_command_and_listens_nowhere_else(
    lab: str, number: signal.Signals, tmp_path: Path
) -> None:
    out = tmp_path / "net"
    measuring = Command(_net(lab, out, "--patterns", "n-1", duration="60s"))

    def listening() -> set[str]:
        return set(
            ioassay("lab", "exec", f"{lab}/server1", "ss", "-Hltn", "sport >= 5201 and sport <= 5202")[1].split()
        )

    until(lambda: {"10.86.0.3:5201", "10.86.0.3:5202"} <= listening(), "both servers to listen")
    assert not {"0.0.0.0:5201", "*:5201", "127.0.0.1:5201"} & listening()
    os.kill(measuring.pid, number)
    code, _, err = measuring.end()
    assert code == (-9 if number == signal.SIGKILL else 3), err
    until(lambda: not _iperf3_runs(lab), "iperf3 to end")
    if number != signal.SIGKILL:
        assert f"{number.name}: stopped" in err
        assert json.loads((out / "net.json").read_text())["state"] == "interrupted"


def test_an_unresponsive_host_ends_the_command_with_its_name(lab: str, tmp_path: Path) -> None:
    assert ioassay("lab", "cut", f"{lab}/client2")[0] == 0
    try:
        code, _, err = ioassay(*_net(lab, tmp_path / "net", "--patterns", "n-1", duration="2s"))
    finally:
        assert ioassay("lab", "heal", f"{lab}/client2")[0] == 0
    assert code == 3
    assert "client2: `" in err
    assert "unable to connect to server" in err
    assert not _iperf3_runs(lab)


def test_invalid_arguments_are_refused(tmp_path: Path) -> None:
    for words, options in {
        "n-k is not supported": ["--patterns", "n-k"],
        "sideways is not supported": ["--directions", "sideways"],
        "too short": ["--duration", "100ms"],
        "ports up to": ["--port", "65535"],
        "which other hosts cannot reach": ["--servers", "localhost"],
    }.items():
        ends = ["--clients", "one,two", "--servers", "oss1=10.0.0.5"]
        code, _, err = ioassay("net", *ends, "--out", tmp_path / "net", *options)
        assert (code, words in err) == (2, True), err
    code, _, err = ioassay("report", tmp_path, "--ceilings", tmp_path / "nothing")
    assert (code, "There is no" in err) == (2, True), err
    assert not (tmp_path / "net").exists()
