"""Generates reference pages: the keys of a kind of document as tables, from its model.

For the checkout only: an installed package has no `docs/`. Not here: the kinds of documents (`studies.reference`,
`lab.reference`).
"""

from __future__ import annotations

import sys
import tomllib
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ioassay.text.units import format_bytes, format_duration
from ioassay.yaml_models.model import FieldInfo, Part
from ioassay.yaml_models.validate import keys, kind_of, leaf, part_of
from ioassay.yaml_models.values import Kind

ROOT = Path(__file__).parents[3]

DOCS = ROOT / "docs/reference"


@dataclass(frozen=True)
class Headings:
    """The parts with their own section, each with its heading. Keys of that type link there."""

    of: Mapping[type[Part], str]

    def sections(self) -> list[str]:
        """A section for each part, with the table of its keys."""
        return [
            f"## {heading}\n\n{first_line(part)}\n\n"
            + table(["key", "value", "default", "meaning"], [self.row(*item) for item in keys(part).items()])
            for part, heading in self.of.items()
        ]

    def row(self, key: str, field: FieldInfo) -> list[str]:
        """A row: key, value, default, meaning."""
        return [f"`{key}`", self._value(field), _default(field), field.description or ""]

    def _value(self, field: FieldInfo) -> str:
        words, kind = leaf(field.annotation, field.metadata)
        part = part_of(field)
        if part is not None and (heading := self._heading(part)):
            kind = f"[{heading}](#{heading.replace(' ', '-')})"
        elif part is not None and not keys(part):
            kind = "`{}`"
        elif words:
            kind = ", ".join(f"`{word}`" for word in words)
        if any(isinstance(note, Kind) for note in field.metadata):
            return kind
        shapes = {typing.get_origin(field.annotation), *map(typing.get_origin, typing.get_args(field.annotation))}
        return f"by name: {kind}" if dict in shapes else f"list of: {kind}" if list in shapes else kind

    def _heading(self, part: type[Part]) -> str:
        """The section of the part, or of the part that it narrows; empty if neither has one."""
        return next((self.of[base].lower() for base in part.__mro__ if base in self.of), "")


def first_line(part: type[Part]) -> str:
    """The first paragraph of the description of a part, in a line."""
    return " ".join((part.__doc__ or "").strip().partition("\n\n")[0].split())


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def formatted(page: str) -> str:
    """The page with wrapped lines, as `make lint` requires."""
    import mdformat  # noqa: PLC0415  (developers have it, an installed package has not)

    options = tomllib.loads((ROOT / ".mdformat.toml").read_text())
    return mdformat.text(page, options=options, extensions={"gfm", "tables"})


def main(name: str, page: str, module: str, arguments: Sequence[str]) -> int:
    """Writes the page `name`, or with `--check` reports whether it is stale; returns the exit code."""
    file = DOCS / name
    page = formatted(page)
    if arguments == ["--check"]:
        if file.is_file() and file.read_text() == page:
            return 0
        print(f"{file} is stale: run python -m {module}", file=sys.stderr)
        return 1
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(page)
    return 0


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default in (None, [], {}):
        return "–"
    if isinstance(field.default, Part):
        return f"`{next(iter(field.default.model_dump().values()))}`"
    if isinstance(field.default, bool):
        return "`yes`" if field.default else "`no`"
    if isinstance(field.default, list):
        return f"`{', '.join(map(str, field.default))}`"
    show = {"duration": format_duration, "size": format_bytes}.get(kind_of(field))
    return f"`{show(field.default).replace(' ', '') if show else field.default}`"
