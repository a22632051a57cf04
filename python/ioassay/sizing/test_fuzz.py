"""Whatever stands in a file, the answer is an answer or an error of the user's, and it comes in seconds."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ioassay.errors import UsageError
from ioassay.reports.sizing import explanation
from ioassay.sizing import configurations
from ioassay.sizing.components import LARGEST_COUNT, MOST_POINTS
from ioassay.sizing.prediction.predict import predict
from ioassay.sizing.prediction.storage import storage
from ioassay.sizing.requirements import MOST_RACKS, MOST_YEARS
from ioassay.sizing.search.needs import needs
from ioassay.sizing.search.read import read as read_requirements
from ioassay.studies.library import find_study
from ioassay.studies.resolve import resolve
from ioassay.yaml_models.source import SourceError

Path_ = list[str | int]

CATALOGUE: dict[str, Any] = yaml.safe_load("""
name: ours
title: What we have
sources:
  sheet: {title: Data sheet}
drives:
  big:
    title: A disk
    media: hdd
    capacity: {value: 20TB, at: "sheet:3"}
    write: {value: 200MB/s, assumed: Usual.}
    read: {value: 200MB/s, assumed: Usual.}
    random_write: {value: 150 IOPS, assumed: Usual.}
    random_read: {value: 150 IOPS, assumed: Usual.}
    annual_failure_rate: {value: 1.5%, assumed: Usual.}
    read_error_every: {value: 125TB, assumed: Usual.}
    power: {value: 9W, assumed: Usual.}
    price: {value: "400", assumed: An offer., currency: EUR, date: 2024-05}
enclosures:
  box: {title: A box, slots: "24", rack_units: "4", link: {value: 96Gbit/s, assumed: Two cables.}}
controllers:
  pair:
    title: Controllers
    units: "2"
    ports: "4"
    write: {figure: md3460-ieel/brick}
    read: {value: 5GB/s, at: sheet}
adapters:
  nic:
    title: A NIC
    side: network
    ports: "2"
    link: {value: 100Gbit/s, at: sheet}
    encoding: {value: 97%, assumed: Coding.}
servers:
  server: {title: A server, rack_units: "1"}
switches:
  switch: {title: A switch, ports: "32", link: {value: 100Gbit/s, at: sheet}, rack_units: "1"}
file_systems:
  fs: {title: A file system, overhead: {value: 2%, assumed: Measured once.}}
bricks:
  ours:
    title: Ours
    drives: [big]
    drive_count: "24"
    redundancy: {layout: raidz2, data: "10", groups: "2", record: 1MiB, sector: 4k}
    file_system: fs
    enclosures: {box: "1"}
    controllers: {pair: "1"}
    adapters: {nic: "2"}
    servers: {server: "2"}
    measured: {random_read: {rate: {value: 20 kIOPS, at: sheet}, limited_by: drives}}
    scaling:
      by: table
      points:
        write: [{count: "1", rate: {value: 4GB/s, at: sheet}}, {count: "8", rate: {value: 30GB/s, at: sheet}}]
        read: [{count: "1", rate: {value: 4GB/s, at: sheet}}, {count: "8", rate: {value: 30GB/s, at: sheet}}]
metadata:
  module:
    title: A module
    parts: {server: "2"}
    create: {value: 20 kIOPS, at: sheet}
    scaling: {by: linear, because: There is one.}
""")

CONFIGURATIONS: dict[str, Any] = yaml.safe_load("""
name: mine
title: What we want
catalogues: [catalogue.yaml]
sources:
  sheet: {title: Data sheet}
configurations:
  some:
    bricks: [{brick: ours, count: "4", drive: big}]
    metadata: {module: "1"}
    switches: {switch: "1"}
    rack: rack-42u
    clients: {count: "16", link: {value: 100Gbit/s, assumed: As ordered.}}
    scaling: {by: linear, because: Hope.}
    request: 64k
    stated:
      - {what: usable, value: 1.5PB, unit: PiB, at: "sheet:4"}
      - {what: price, value: "0.65", relative_to: some, at: sheet}
""")

REQUIREMENTS: dict[str, Any] = yaml.safe_load("""
name: mine
catalogues: [catalogue.yaml]
usable: 2PB
growth: {per_year: 30%, years: "3"}
fill: 80%
write: 36GB/s
random_read: 50 kIOPS
create: 20 kIOPS
accelerators: {count: "64", read_each: 1GB/s}
checkpoint: {size: 10TB, longest: 5min, kept: "2", failures_every: 24h}
survives: {drives: "2", servers: "1"}
clients: {count: "16", link: {value: 100Gbit/s, assumed: As ordered.}}
limits: {racks: "4", power: 20kW, budget: "1200000", currency: EUR}
bricks: [ours]
switches: [switch]
kinds: "1"
""")

TIERED: dict[str, Any] = {
    key: value for key, value in REQUIREMENTS.items() if key not in ("switches", "bricks")
} | yaml.safe_load("""
checkpoint: {size: 10TB, longest: 5min, every: 1h, drained_in: 30min, kept: "2"}
tiers:
  flash: {media: flash, bricks: [ours], usable: 10%, write: 90%, read: 50%, create: 100%, checkpoints: "1"}
  disk: {media: disk, bricks: [ours], metadata: [module], random_read: 100%}
  tape: {usable: 100%, checkpoints: "2"}
""")
TIERED["tiers"]["disk"] |= {"drain": "2GB/s", "stage_in": "1GB/s"}

HARD = st.sampled_from(
    [
        *(
            "0",
            "-1",
            "1",
            "7",
            "1e400",
            "NaN",
            "inf",
            "-0",
            "1.5",
            "18446744073709551616",
            "9" * 400,
            "1000000000000000",
        ),
        *("0%", "100%", "150%", "0.0000001%", "0TB", "1B", "0.000000000000001B", "999999999999999PB", "1TiB", "1PB"),
        *("0GB/s", "0.000000000000001GB/s", "999999999999999PB/s", "1B/s", "0 IOPS", "1 IOPS", "999999999999999M IOPS"),
        *(
            "0W",
            "999999999999999kW",
            "0s",
            "1ns",
            "5124095h",
            "0Gbit/s",
            "raid6",
            "draid2",
            "erasure",
            "mirror",
            "none",
        ),
        *(
            "ours",
            "big",
            "server",
            "no/figure",
            "md3460-ieel/brick",
            "",
            " ",
            "x" * 5000,
            "ü",
            "行",
            "\u202e",
            "a\tb",
            "..",
            "/",
        ),
    ]
)
"""Values at the edges of what anything in a file may be."""

COUNTS = ("1", "2", "3", "10", "24", "64", "1000", "100000")
AMOUNTS = ("0.000000000000001", "0.3", "1", "7", "99", "100", "12345", "999999999999999")

Documents = st.SearchStrategy[object]

SHAPES: st.SearchStrategy[object] = st.one_of(
    HARD,
    st.sampled_from([[], {}, [[]], [{}], {"x": []}, {"ours": "1"}, ["ours", "ours"], [["big"]]]),
    st.text(max_size=8),
)


def places(value: object, path: Path_) -> list[Path_]:
    """The way to everything in a document."""
    paths = [path]
    if isinstance(value, dict):
        paths += [way for key, entry in value.items() for way in places(entry, [*path, key])]
    elif isinstance(value, list):
        paths += [way for index, item in enumerate(value) for way in places(item, [*path, index])]
    return paths


def changed(value: Any, path: Path_, new: object) -> Any:
    """The document with something else in one place; `None` takes it out."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else dict(enumerate(value))
    if path[1:]:
        copy[path[0]] = changed(copy[path[0]], path[1:], new)
    elif new is None:
        del copy[path[0]]
    else:
        copy[path[0]] = new
    return copy if isinstance(value, dict) else list(copy.values())


def in_up_to_three_places(document: dict[str, Any], change: Callable[[Path_], st.SearchStrategy[object]]) -> Documents:
    """The document with other things in some places, which `change` has for the way to each."""
    single = st.sampled_from(places(document, [])[1:]).flatmap(lambda path: st.tuples(st.just(path), change(path)))

    def apply(changes: list[tuple[Path_, object]]) -> object:
        result: Any = document
        for path, new in changes:
            if path in places(result, []):
                result = changed(result, path, new)
        return result

    return st.lists(single, min_size=1, max_size=3).map(apply)


def mutated(document: dict[str, Any]) -> Documents:
    """The document with anything in some places."""
    return in_up_to_three_places(document, lambda path: st.one_of(st.none(), SHAPES))


def with_other_numbers(document: dict[str, Any]) -> Documents:
    """The document with other numbers in some places, of the same unit and mostly valid."""

    def change(path: Path_) -> st.SearchStrategy[object]:
        written = value_at(document, path)
        number = re.fullmatch(r"([0-9.]+)(.*)", written) if isinstance(written, str) else None
        if number is None:
            return st.just(written)
        return st.sampled_from(COUNTS if not number[2] else AMOUNTS).map(lambda other: other + number[2])

    return in_up_to_three_places(document, change)


def value_at(document: object, path: Path_) -> object:
    """What stands there."""
    for step in path:
        document = document[step]  # type: ignore[index]
    return document


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


def explained(folder: Path, catalogue: object = CATALOGUE, file: object = CONFIGURATIONS) -> str:
    """All that `size explain` writes of a file, and what `size predict` would have to draw."""
    (folder / "catalogue.yaml").write_text(yaml.safe_dump(catalogue, allow_unicode=True))
    (folder / "mine.yaml").write_text(yaml.safe_dump(file, allow_unicode=True))
    read, components = configurations.read(str(folder / "mine.yaml"))
    name, configuration = configurations.choose(read, None)
    text = str(explanation.report(read, components, None).data())
    predict(resolve(find_study("quick"), None, []), storage(components, name, configuration, read.sources), name, "")
    return text


def only_refused(answer: Callable[[], object]) -> None:
    """Runs it; what cannot be meant may be refused."""
    with contextlib.suppress(UsageError):
        answer()


PATIENT = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def test_the_documents_that_are_mutated_are_answered(folder: Path) -> None:
    assert "some" in explained(folder)
    (folder / "needs.yaml").write_text(yaml.safe_dump(REQUIREMENTS))
    assert needs(read_requirements(folder / "needs.yaml")[0])


@PATIENT
@given(st.one_of(mutated(CATALOGUE), with_other_numbers(CATALOGUE)))
def test_a_catalogue_of_any_content_is_answered_or_refused(folder: Path, catalogue: object) -> None:
    only_refused(lambda: explained(folder, catalogue))


@PATIENT
@given(st.one_of(mutated(CONFIGURATIONS), with_other_numbers(CONFIGURATIONS)))
def test_configurations_of_any_content_are_answered_or_refused(folder: Path, file: object) -> None:
    only_refused(lambda: explained(folder, file=file))


@PATIENT
@given(st.one_of(mutated(REQUIREMENTS), with_other_numbers(REQUIREMENTS), mutated(TIERED), with_other_numbers(TIERED)))
@example(TIERED)
def test_requirements_of_any_content_are_read_or_refused(folder: Path, file: object) -> None:
    (folder / "catalogue.yaml").write_text(yaml.safe_dump(CATALOGUE))
    (folder / "needs.yaml").write_text(yaml.safe_dump(file, allow_unicode=True))
    only_refused(lambda: needs(read_requirements(folder / "needs.yaml")[0]))


@PATIENT
@given(st.binary(max_size=200))
@example("name: mine\nusable: 2PB\n".encode("utf-16"))
@example("name: mäine\n".encode("latin-1"))
@example(b"usable: [" + b"[" * 5000)
@example(b"usable: &a 2PB\nwrite: *a\n")
@example(b"name: mine\nusable: 2PB\nname: other\n")
@example(b"name: \x1b[31mred\n")
@example(b"\x00")
@example(b"")
@example(b"- usable\n")
def test_bytes_of_any_kind_are_read_or_refused(folder: Path, text: bytes) -> None:
    path = folder / "needs.yaml"
    path.write_bytes(text)
    only_refused(lambda: read_requirements(path))
    only_refused(lambda: configurations.read(str(path)))


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        (["drives", "big", "capacity", "value"], "0TB", "drives.big.capacity: .* is zero"),
        (["adapters", "nic", "encoding", "value"], "0%", "adapters.nic.encoding: .* is zero"),
        (["drives", "big", "annual_failure_rate", "value"], "150%", "annual_failure_rate: .* is more than 100 %"),
        (["bricks", "ours", "drive_count"], "1000000000000000", f"drive_count: .* use 1 to {LARGEST_COUNT}"),
        (["bricks", "ours", "servers", "server"], "0", f"servers.server: .* use 1 to {LARGEST_COUNT}"),
        (["bricks", "ours", "scaling", "points", "write"], [], "scaling: has 0 points of write"),
        (
            ["bricks", "ours", "scaling", "points", "write", 1, "count"],
            "1",
            "scaling: has several points of write with the same count",
        ),
        (
            ["bricks", "ours", "scaling", "points", "write"],
            [{"count": str(count), "rate": {"value": "1GB/s", "at": "sheet"}} for count in range(1, MOST_POINTS + 2)],
            f"scaling: has {MOST_POINTS + 1} points of write; give 1 to {MOST_POINTS}",
        ),
    ],
)
def test_a_hard_number_of_a_catalogue_is_refused_with_its_line(
    folder: Path, path: Path_, value: object, problem: str
) -> None:
    with pytest.raises(SourceError, match=rf"catalogue\.yaml:\d+: .*{problem}"):
        explained(folder, changed(CATALOGUE, path, value))


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        (["usable"], "0PB", "usable: .* is too low"),
        (["write"], "0GB/s", "write: .* is too low"),
        (["fill"], "150%", "fill: .* is too high"),
        (["fill"], "0%", "fill: .* is too low"),
        (["growth", "years"], "1000", f"growth.years: .* use 1 to {MOST_YEARS}"),
        (["limits", "racks"], "0", f"limits.racks: .* use 1 to {MOST_RACKS}"),
        (["limits", "racks"], "1000000000", f"limits.racks: .* use 1 to {MOST_RACKS}"),
        (["checkpoint", "longest"], "0s", "checkpoint.longest: .* is no time"),
        (["checkpoint", "failures_every"], "0s", "checkpoint.failures_every: .* is no time"),
    ],
)
def test_a_hard_number_of_requirements_is_refused_with_its_line(
    folder: Path, path: Path_, value: object, problem: str
) -> None:
    (folder / "needs.yaml").write_text(yaml.safe_dump(changed(REQUIREMENTS, path, value)))
    with pytest.raises(SourceError, match=rf"needs\.yaml:\d+: {problem}"):
        read_requirements(folder / "needs.yaml")


def test_a_group_that_may_lose_hundreds_of_drives_is_refused(folder: Path) -> None:
    redundancy = {"layout": "erasure", "data": "9000", "parity": "1000", "groups": "1"}
    huge = changed(
        changed(CATALOGUE, ["bricks", "ours", "redundancy"], redundancy), ["bricks", "ours", "enclosures"], {}
    )
    with pytest.raises(UsageError, match="ours: each group may lose 1000 drives; at most 64"):
        explained(folder, changed(huge, ["bricks", "ours", "drive_count"], "10000"))


def test_a_group_of_ten_thousand_drives_and_a_hundred_thousand_bricks_are_answered(folder: Path) -> None:
    redundancy = {"layout": "erasure", "data": "9936", "parity": "64", "groups": "1"}
    huge = changed(
        changed(CATALOGUE, ["bricks", "ours", "redundancy"], redundancy), ["bricks", "ours", "enclosures"], {}
    )
    huge = changed(changed(huge, ["bricks", "ours", "drive_count"], "10000"), ["bricks", "ours", "scaling"], None)
    many = changed(CONFIGURATIONS, ["configurations", "some", "bricks", 0, "count"], str(LARGEST_COUNT))
    assert "some" in explained(folder, huge, changed(many, ["configurations", "some", "switches"], {}))
