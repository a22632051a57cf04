"""The built-in files of configurations on the terminal. Not: what follows from one (`explanation`)."""

from __future__ import annotations

from ioassay.reports.document import Block, Column, Preformatted, Section, Table, Text, numbers
from ioassay.sizing.configurations import builtin_files

_HINTS = """\
ioassay size explain NAME           what each configuration holds and does
ioassay size explain NAME --check   whether the published figures follow
ioassay size explain NAME --yaml    the YAML, to copy"""


def blocks() -> list[Block]:
    """Every file in a line, and what can be done with it."""
    columns = [Column("Name", wraps=False), Column("Description"), *numbers("Configurations", "Published figures")]
    rows: list[list[Text]] = [
        [
            name,
            file.title,
            f"{len(file.configurations)}",
            f"{sum(len(configuration.stated) for configuration in file.configurations.values())}",
        ]
        for name, file in builtin_files().items()
    ]
    return [Table(columns, rows, title="Published configurations"), Section("", [Preformatted(_HINTS)])]
