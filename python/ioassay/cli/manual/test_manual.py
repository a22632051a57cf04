"""Manual pages: complete, of the program as it is, and in order for those who render them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ioassay.cli.command_tree import every_command
from ioassay.cli.manual import __main__ as manual
from ioassay.cli.manual import facts
from ioassay.cli.manual.program_pages import parsed
from ioassay.cli.manual.troff import Page, text

SHELL_GUIDE = Path(__file__).parents[4] / "docs/guides/shell.md"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """All pages, by name."""
    place = tmp_path_factory.mktemp("man")
    manual.main(place)
    return {path.stem: path for path in place.iterdir()}


def test_every_command_and_program_has_a_page(pages: dict[str, Path]) -> None:
    commands = {"-".join(("ioassay", *words)) for words, _ in every_command()}
    assert commands | {"ioassay-engine", "ioassay-engine-ior", "ioassay-agent"} <= {*pages}


@pytest.mark.parametrize(
    "command",
    [["mandoc", "-T", "lint", "-W", "warning"], ["groff", "-man", "-T", "utf8", "-w", "w", "-z"]],
    ids=["mandoc", "groff"],
)
def test_nothing_is_wrong_with_a_page(command: list[str], pages: dict[str, Path]) -> None:
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed: apt-get install {command[0]}")
    done = subprocess.run([*command, *pages.values()], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_page_says_what_its_help_says(pages: dict[str, Path]) -> None:
    page = pages["ioassay-run"].read_text()
    for part in (
        "ioassay\\-run \\- Run a study on a directory, object store, block device or lab\n",
        ".SH SYNOPSIS\n\\fBioassay run \\fI[OPTIONS]\\fB \\fI[STUDY]\\fB\\fR\n",
        "\\fB\\-\\-target\\fR \\fITARGET\\fR\nWhat to measure: a directory",
        ".EX\nioassay run quick \\-\\-target /mnt/scratch\n.EE\n",
        ".SH EXIT STATUS\n.TP\n\\fI0\\fR\nSuccess.\n",
    ):
        assert part in page
    assert "IOASSAY_ENGINE" in pages["ioassay"].read_text()
    assert (
        "\\fB\\%ioassay\\-lab\\-up\\fR(1)\nStart a lab and return when it can be used.\n"
        in pages["ioassay-lab"].read_text()
    )


def test_text_that_looks_like_a_troff_command_is_escaped() -> None:
    page = Page("x", "y", "1", "2026-01-01")
    page.paragraphs([".SH is no heading", "'quoted' \\n(`--a-b`) …"])
    assert "\n\\&.SH is no heading\n.PP\n\\&\\(aqquoted\\(aq \\en(\\fB\\%\\-\\-a\\-b\\fR) \\[u2026]\n" in page.source()
    assert text("a\n  b") == "a b"


def test_a_help_is_taken_apart() -> None:
    parsed_help = parsed(
        "Does it.\n\nMore of\nit.\n\nUsage: it [OPTIONS]\n\nCommands:\n  run  Run it\n\n"
        "Options:\n      --host <HOST>\n          On a host.\n          \n          Repeat it.\n\n  -h  Help\n"
    )
    assert parsed_help.introduction == ["Does it.", "More of it."]
    assert parsed_help.usage == "it [OPTIONS]"
    assert parsed_help.sections == {
        "Commands": [("run", "Run it")],
        "Options": [("--host <HOST>", "On a host. Repeat it."), ("-h", "Help")],
    }


def test_the_guide_has_the_same_facts() -> None:
    guide = " ".join(SHELL_GUIDE.read_text().split())
    for code, meaning in facts.EXIT_STATUS.items():
        assert f"| {code} | {meaning} |" in guide
    for variable, meaning in facts.ENVIRONMENT.items():
        assert f"| `{variable}` | {meaning} |" in guide
