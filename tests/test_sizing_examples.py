"""The files in `examples/sizing` have the stated answers, and the guide to sizing shows the actual output."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from ioassay.testing.builder import RunBuilder
from ioassay.testing.stored import store

from .pages import carry_out, steps
from .support import ioassay

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples" / "sizing"
GUIDE = ROOT / "docs" / "guides" / "size.md"


def answer(*arguments: str | Path, code: int = 0) -> Any:
    """The JSON document that `ioassay size` prints."""
    actual_code, out, err = ioassay("size", *arguments, "--json", directory=EXAMPLES)
    assert (actual_code, err) == (code, "")
    return json.loads(out)


def nominal(of: dict[str, Any], key: str) -> float:
    """A number without its interval."""
    return float(of[key]["nominal"])


def needed(document: dict[str, Any]) -> dict[str, float]:
    """What requirements come to, in base units."""
    return {
        need["what"]: value["nominal"]
        for need in document["needs"]
        for key, value in need.items()
        if key.startswith("needed") and value is not None
    }


def test_scratch_grows_for_three_years_is_never_full_and_keeps_its_rates_while_drives_are_rebuilt() -> None:
    document = answer("scratch.yaml")
    assert needed(document)["usable"] == pytest.approx(2**50 * 1.2**3 / 0.8)
    assert document["answers"]
    for system in document["answers"]:
        assert nominal(system, "usable_bytes") >= 2**50 * 1.2**3 / 0.8
        assert all(
            system["rates"]["rebuilding"][kind]["rate_bytes_per_s"]["nominal"] >= 36e9 for kind in ("write", "read")
        )


def test_gpus_are_fed_and_checkpoints_are_written_in_time_within_the_budget() -> None:
    document = answer("gpu-cluster.yaml")
    assert needed(document) == pytest.approx(
        {
            "usable": 1e15 + 3 * 40e12,
            "write": 40e12 / 240,
            "read": 256 * 1.2e9,
            "create": 100e3,
            "racks": 2,
            "budget": 1.5e6,
        }
    )
    cheapest = document["answers"][0]
    assert [(brick["brick"], brick["count"]) for brick in cheapest["bricks"]] == [("my-brick", 9)]
    assert nominal(cheapest, "price") == 9 * 90_000 + 60_000
    assert all(nominal(system, "price") <= 1.5e6 for system in document["answers"])


def test_accelerators_and_checkpoints_are_given_by_model() -> None:
    document = answer("training-cluster.yaml")
    checkpoint = 978.4e9
    assert needed(document) == pytest.approx(
        {
            "usable": 1e15 + 3 * checkpoint,
            "write": checkpoint / 20,
            "read": 64 * 0.9 * 7 * 146_600_628 / 0.323,
            "racks": 2,
        },
        rel=1e-4,
    )
    assert all(
        system["rates"]["healthy"]["read"]["rate_bytes_per_s"]["nominal"] >= needed(document)["read"]
        for system in document["answers"]
    )


def test_flash_takes_checkpoints_and_drains_them_to_disk_within_one_set_of_racks() -> None:
    document = answer("flash-and-disk.yaml")
    drain = 40e12 / (3600 - 480)
    assert needed(document) == pytest.approx(
        {
            "flash/usable": 0.1 * 5e15 + 40e12,
            "flash/write": 40e12 / 480,
            "flash/read": 0.6 * 40e9 + drain,
            "disk/usable": 0.9 * 5e15 + 3 * 40e12,
            "disk/write": 0.1 * 60e9 + drain,
            "disk/read": 0.4 * 40e9,
            "racks": 8,
        }
    )
    assert document["verdict"] == "best"
    for system in document["answers"]:
        assert len(system["racks"]) <= 8
        for tier in ("flash", "disk"):
            assert nominal(system["tiers"][tier], "usable_bytes") >= needed(document)[f"{tier}/usable"]
            for kind in ("write", "read"):
                rate = system["tiers"][tier]["rates"]["healthy"][kind]["rate_bytes_per_s"]["nominal"]
                assert rate >= needed(document)[f"{tier}/{kind}"]


def test_an_answer_of_tiers_explains_the_number_of_bricks(tmp_path: Path) -> None:
    code, out, err = ioassay("size", "flash-and-disk.yaml", "--save", tmp_path, directory=EXAMPLES)
    assert code == 0
    text = " ".join(out.split())
    assert "flash: 20 × astra-lustre" in text
    assert "Usable capacity of flash 540 TB ÷ 27.15 TB 19.89, which decides Write rate of flash" in text
    saved = err.split()
    code, out, _ = ioassay("size", "explain", saved[0])
    assert code == 0
    assert re.search(r"flash +disk", out)


def test_the_offers_raw_capacity_and_reads_follow_but_not_its_usable_capacity_and_writes() -> None:
    published = answer("explain", "offer.yaml", "--check", code=1)["published"]
    verdicts = {figure["what"]: figure["verdict"] == "as printed" for figure in published["figures"]}
    assert verdicts == {"raw": True, "usable": False, "write": False, "read": True, "rack_units": True}
    assert not published["is_consistent"]


def test_a_run_can_supply_the_rates_of_a_brick_of_a_users_catalogue(tmp_path: Path) -> None:
    builder = RunBuilder().clients(1, 2).repetitions(3).workload("sequential", write=9e9, read=12e9)
    store(builder.build(), tmp_path / "runs" / "brick")
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    catalogue = tmp_path / "catalogue.yaml"
    invented = r"rate: \{value: (24|40)GB/s, assumed: Invented\.\}, limited_by: .*\}"
    written, count = re.subn(invented, "rate: {run: runs/brick}}", catalogue.read_text("utf-8"))
    assert count == 2
    catalogue.write_text(written, encoding="utf-8")
    code, out, _ = ioassay("size", "catalogue", "my-brick", "--catalogue", catalogue)
    assert code == 0
    assert re.search(r"write rate +\S+ GB/s.*Measured: brick", out)


def test_every_example_is_run_by_a_test() -> None:
    run = {"catalogue.yaml", "flash-and-disk.yaml", "gpu-cluster.yaml", "offer.yaml", "scratch.yaml"}
    run |= {"training-cluster.yaml"}
    assert {path.name for path in EXAMPLES.iterdir()} == run


def test_every_command_of_the_guide_prints_what_the_page_shows(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    commands = 0
    for step in steps(GUIDE.read_text(encoding="utf-8")):
        if not isinstance(step, str):
            carry_out(step, tmp_path, lambda shown_line: re.escape(shown_line.strip()), columns=80, codes=(0, 1))
            commands += 1
        elif file_name := re.match(r"# (\S+\.yaml)\n", step):
            (tmp_path / file_name[1]).write_text(step, encoding="utf-8")
    assert commands >= 6
