"""What is typed arrives as its type, and typer says what is wrong with anything else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
import typer.main

from ioassay.cli.parameters import convert_only_typed


def command(seen: list[Any]) -> Any:
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

    @app.command()
    def only_command(
        folders: list[Path],
        *,
        folder: Path = Path("runs"),
        elsewhere: Annotated[Path, typer.Option(parser=Path)] = Path("."),
        name: str | None = None,
        number: Annotated[int, typer.Option(min=1, max=20)] = 1,
        kind: Literal["job", "node"] = "job",
        settings: Annotated[list[str] | None, typer.Option("--set")] = None,
    ) -> None:
        seen.append((folders, folder, elsewhere, name, number, kind, settings))

    built = typer.main.get_command(app)
    convert_only_typed(built)
    return built


def typed(*words: str) -> Any:
    seen: list[Any] = []
    command(seen)(list(words), standalone_mode=False)
    return seen[0]


def test_values_have_the_types_that_the_command_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "typer._adapters", None)
    words = ["--folder", "c", "--elsewhere", "d", "--name", "7", "--number", "20", "--kind", "node"]
    assert typed("a", "b", *words, "--set", "x=1", "--set", "y=2") == (
        [Path("a"), Path("b")],
        Path("c"),
        Path("d"),
        "7",
        20,
        "node",
        ["x=1", "y=2"],
    )


def test_parameters_left_out_have_their_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "typer._adapters", None)
    assert typed("a")[1:6] == (Path("runs"), Path("."), None, 1, "job")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--number", "0"], "greater than or equal to 1"),
        (["--number", "21"], "less than or equal to 20"),
        (["--number", "many"], "valid integer"),
        (["--number", "²"], "valid integer"),
        (["--kind", "rack"], "'rack' is not one of 'job', 'node'"),
    ],
)
def test_typer_says_what_is_wrong(words: list[str], message: str) -> None:
    with pytest.raises(typer.TyperException) as refused:
        typed("a", *words)
    assert message in refused.value.format_message()
