"""Names in configurations and requirements that mean nothing are refused with their lines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ioassay.sizing.components import Brick
from ioassay.sizing.configurations import read as read_configurations
from ioassay.sizing.search.read import read as read_requirements
from ioassay.yaml_models.source import SourceError

CONFIGURATIONS = """\
name: mine
title: What we want
sources:
  sheet: {title: Data sheet}
configurations:
  small:
    bricks:
      - brick: md3460-performance
        count: 2
        drive: nl-sas-4tb
    metadata: {pixstor-metadata: 1}
    switches: {sb7800: 2}
    rack: rack-42u
    clients: {count: 8, link: {value: 100Gbit/s, at: "sheet:3"}}
    scaling:
      by: table
      points:
        write:
          - {count: 1, rate: {figure: md3460-ieel/brick}}
          - {count: 2, rate: {value: 8 GB/s, at: sheet}}
    stated:
      - what: price
        value: "0.65"
        relative_to: small
        at: sheet
"""

REQUIREMENTS = """\
name: mine
usable: 2PB
bricks: [md3460-performance, md3460-capacity]
metadata: [pixstor-metadata]
switches: [sb7800]
limits:
  rack: rack-42u
clients: {count: 8, link: {value: 100Gbit/s, assumed: As ordered.}}
"""


def written(folder: Path, text: str) -> Path:
    """A file of one's own."""
    path = folder / "mine.yaml"
    path.write_text(text)
    return path


def problems(error: pytest.ExceptionInfo[SourceError]) -> list[str]:
    """Each problem with the number of its line in place of its file."""
    return [re.sub(r"^.*mine\.yaml:", "", str(problem)) for problem in error.value.problems]


def test_files_without_a_mistake_are_read(tmp_path: Path) -> None:
    assert read_configurations(str(written(tmp_path, CONFIGURATIONS)))[0].configurations.keys() == {"small"}
    assert read_requirements(written(tmp_path, REQUIREMENTS))[0].name == "mine"


@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        ("brick: md3460-performance", "brick: md3460-performence", "8: .*no brick .*; did you mean `md3460-perf"),
        ("brick: md3460-performance", "brick: md3460", '8: .*there is no brick "md3460"; did you mean `md3460-'),
        ("drive: nl-sas-4tb", "drive: nl-sas-4t", "10: .*does not take nl-sas-4t; did you mean `nl-sas-4tb`"),
        ("drive: nl-sas-4tb", "drive: nl-sas-16tb", "10: .*does not take nl-sas-16tb; did you mean `nl-sas-"),
        ("        drive: nl-sas-4tb\n", "", "8: .*takes several drives; add `drive:` with nl-sas-4tb or nl-sas-6tb"),
        (
            "    metadata:",
            "      - {brick: md3460-performance, count: 1, drive: nl-sas-4tb}\n    metadata:",
            "11: .*md3460-performance with nl-sas-4tb is named twice; write it once, with the sum",
        ),
        ("pixstor-metadata", "pixstor-metadat", "11: .*no metadata module .*; did you mean `pixstor-metadata`"),
        ("sb7800", "sb780", "12: .*no switch .*; did you mean `sb7800`"),
        ("rack: rack-42u", "rack: rack-42", "13: .*no rack .*; did you mean `rack-42u`"),
        ('"sheet:3"', '"shet:3"', '14: .*link.at: the source "shet" is unknown; did you mean `sheet`'),
        ("md3460-ieel/brick", "md3460-ieel/brik", "19: .*md3460-ieel has no figure .*; did you mean `brick`"),
        ("8 GB/s", "8 kIOPS", '20: .*"8 kIOPS" is in operations/s; use bytes/s'),
        (
            "relative_to: small",
            "relative_to: smal",
            '24: .*no configuration "smal" .*; did you mean `small`',
        ),
        ("at: sheet\n", "at: shed\n", '25: .*the source "shed" is unknown'),
    ],
)
def test_a_wrong_name_in_a_configuration_is_refused_with_its_line(
    tmp_path: Path, right: str, wrong: str, problem: str
) -> None:
    with pytest.raises(SourceError) as error:
        read_configurations(str(written(tmp_path, CONFIGURATIONS.replace(right, wrong))))
    (message,) = problems(error)
    assert re.match(problem, message)


@pytest.mark.parametrize(
    ("right", "wrong", "problem"),
    [
        ("md3460-capacity", "md3460-capacty", "3: bricks.1.: .*no brick .*; did you mean `md3460-capacity`"),
        ("md3460-capacity", "md3460-performance", '3: bricks.1.: "md3460-performance" is named twice; write it once'),
        ("[pixstor-metadata]", "[sb7800]", '4: .*no metadata module "sb7800"'),
        ("[sb7800]", "[sb7801]", "5: .*no switch .*; did you mean `sb7800`"),
        ("rack-42u", "rack-42", "7: limits.rack: .*no rack .*; did you mean `rack-42u`"),
        (
            "assumed: As ordered.",
            "at: sheet",
            "8: .*source .* is unknown; add it to `sources`, or write `assumed` with the reason",
        ),
    ],
)
def test_a_wrong_name_in_requirements_is_refused_with_its_line(
    tmp_path: Path, right: str, wrong: str, problem: str
) -> None:
    with pytest.raises(SourceError) as error:
        read_requirements(written(tmp_path, REQUIREMENTS.replace(right, wrong)))
    (message,) = problems(error)
    assert re.match(problem, message)


@pytest.mark.parametrize(
    ("named", "meant"),
    [
        ("bricks: [wekapod]", {"wekapod-nitro", "wekapod-prime-2218"}),
        ("bricks: WekaPod", {"wekapod-nitro", "wekapod-prime-2218"}),
        ('bricks: ["ddn-*", cray-c500]', {"ddn-ai400x2-turbo", "ddn-ai400x3", "cray-c500"}),
        ("bricks: [pixstor-1]", {"pixstor-1"}),  # a name before a word: not pixstor-1-expanded
        ("bricks: [pixstor-1, expanded]", {"pixstor-1"} | {f"pixstor-{number}-expanded" for number in range(1, 5)}),
        ("tiers: {a: {bricks: ddn}, b: {}}", {"ddn-ai400x2-turbo", "ddn-ai400x3"}),
    ],
)
def test_bricks_are_named_by_names_words_and_patterns(tmp_path: Path, named: str, meant: set[str]) -> None:
    requirement, _ = read_requirements(written(tmp_path, f"name: x\nusable: 1PB\n{named}\n"))
    assert {*requirement.bricks, *(name for tier in requirement.tiers.values() for name in tier.bricks)} == meant


def test_a_star_names_all_bricks_of_all_catalogues(tmp_path: Path) -> None:
    requirement, catalogue = read_requirements(written(tmp_path, 'name: x\nusable: 1PB\nbricks: "*"\n'))
    assert requirement.bricks == [entry.name for entry in catalogue.all(Brick)]


@pytest.mark.parametrize(
    ("named", "problem"),
    [
        ('bricks: ["dnn-*"]', '3: bricks.0.: no brick matches "dnn-[*]"; did you mean `ddn`'),
        ('bricks:\n  - cray-c500\n  - "zzz*"', '5: bricks.1.: no brick matches "zzz[*]"; `ioassay size catalogue`'),
        ("bricks: null", "3: bricks: is empty; write a name, a word of several names"),
        ("bricks:", "3: bricks: is empty"),
        ("bricks:\n  - ddn\n  -", "5: bricks.1.: is empty"),
        ("bricks: [ddn, *]", "3: not YAML: while scanning an alias.*; put what has a `[*]` in quotes"),
        ("metadata: [null]", "3: metadata.0.: is empty"),
        ("bricks: [ddn, ddn]", '3: bricks.1.: "ddn" is named twice'),
        ("bricks: [hdr-100]", '3: bricks.0.: there is no brick "hdr-100"'),
    ],
)
def test_a_word_that_names_nothing_is_refused_with_its_line(tmp_path: Path, named: str, problem: str) -> None:
    with pytest.raises(SourceError) as error:
        read_requirements(written(tmp_path, f"name: x\nusable: 1PB\n{named}\n"))
    (message,) = problems(error)
    assert re.match(problem, message)


def test_every_wrong_name_of_a_file_is_reported_at_once(tmp_path: Path) -> None:
    text = CONFIGURATIONS.replace("brick: md", "brick: m").replace("sb7800", "sb").replace("at: sheet", "at: shed")
    with pytest.raises(SourceError) as error:
        read_configurations(str(written(tmp_path, text)))
    assert {problem.split(":")[0] for problem in problems(error)} == {"8", "12", "20", "25"}


@pytest.mark.parametrize("text", [CONFIGURATIONS, REQUIREMENTS])
def test_a_missing_catalogue_is_reported_with_the_line_that_names_it(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, f"{text}catalogues:\n  - {tmp_path.name}.yaml\n  - other.yaml\n")
    with pytest.raises(SourceError) as error:
        read_configurations(str(path)) if text == CONFIGURATIONS else read_requirements(path)
    first = text.count("\n") + 2
    assert [problem.split(":")[0] for problem in problems(error)] == [str(first), str(first + 1)]
    assert 'there is no file "other.yaml"' in str(error.value)


def test_runs_of_a_scaling_are_found_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path)
    scaling = "scaling: {by: table, points: {write: [{count: 1, rate: {run: runs/one}}]}}\n"
    file = written(tmp_path / "below", REQUIREMENTS + scaling).relative_to(tmp_path)
    scaling_found = read_requirements(file)[0].scaling
    assert scaling_found is not None
    assert scaling_found.points["write"][0].rate.run == str(tmp_path / "below/runs/one")
    text = CONFIGURATIONS.replace("figure: md3460-ieel/brick", "run: ../one")
    of_configuration = read_configurations(str(written(tmp_path / "below", text)))[0].configurations["small"].scaling
    assert of_configuration is not None
    assert Path(of_configuration.points["write"][0].rate.run or "").resolve() == tmp_path / "one"
