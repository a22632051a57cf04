"""What programs need of the system that they run on, read from their bytes.

Not: which needs are allowed (`wheel_check`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from elftools.elf.sections import Section

GlibcVersion = tuple[int, ...]

_MAGIC = b"\x7fELF\x02\x01\x01"
_DEBUG_INFORMATION = {".debug_info", ".debug_line"}


@dataclass(frozen=True)
class Needs:
    """What a program or a library needs, and whether it has what only debuggers read."""

    machine: str
    """As in `EM_X86_64`."""
    glibc: GlibcVersion
    """The newest version of its symbols; `(0,)` where it needs none."""
    libraries: frozenset[str]
    has_debug_information: bool


def needs(content: bytes) -> list[Needs]:
    """Those of a program, then those of each library that its bytes contain. Empty where it is no program."""
    all_needs = []
    offset = content.find(_MAGIC)
    while offset >= 0:
        all_needs += [_needs(sections, machine) for machine, sections in _linked(content[offset:])]
        offset = content.find(_MAGIC, offset + 1)
    return all_needs


def _linked(content: bytes) -> Iterator[tuple[str, list[Section]]]:
    """The sections of what is linked dynamically; a constant of a program can begin like a program and be none."""
    try:
        elf = ELFFile(BytesIO(content))
        sections = list(elf.iter_sections())
    except (ELFError, ConstructError, ValueError):
        return
    if any(isinstance(section, DynamicSection) for section in sections):
        yield elf.header.e_machine, sections


def _needs(sections: list[Section], machine: str) -> Needs:
    dynamic = [section for section in sections if isinstance(section, DynamicSection)]
    tags = [tag for section in dynamic for tag in section.iter_tags("DT_NEEDED")]
    return Needs(
        machine=machine,
        glibc=max(_glibc_versions(sections), default=(0,)),
        libraries=frozenset(tag.needed for tag in tags),  # type: ignore[attr-defined] # these tags have it
        has_debug_information=any(section.name in _DEBUG_INFORMATION for section in sections),
    )


def _glibc_versions(sections: list[Section]) -> Iterator[GlibcVersion]:
    for section in sections:
        if isinstance(section, GNUVerNeedSection):
            for _, versions in section.iter_versions():
                for version in versions:
                    if version.name.startswith("GLIBC_2."):
                        yield tuple(map(int, version.name.removeprefix("GLIBC_").split(".")))
