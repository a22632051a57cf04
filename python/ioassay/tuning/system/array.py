"""A RAID controller's geometry and cache, as the user gives them: no host can read them.

`--raid segment=128k,data=8,parity=2,cache-block=32k,cache-flush=98,write-cache=on,mirroring=on,read-cache=off`
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ioassay.errors import UsageError
from ioassay.text import units

EXAMPLE = "segment=128k,data=8,parity=2"
_MOST_DISKS = 256


@dataclass(frozen=True)
class Array:
    """A disk group of a RAID controller; `None` for what the user did not say."""

    data_disks: int
    segment_bytes: int
    """The bytes on one disk before the next one's turn: the segment, chunk or strip."""
    parity_disks: int = 0
    cache_block_bytes: int | None = None
    """The unit in which the controller manages its cache."""
    cache_flush_percent: int | None = None
    """How full of unwritten data the cache is when the controller begins to write it to disk."""
    write_cache: bool | None = None
    mirroring: bool | None = None
    """Whether unwritten data is kept in the cache of the other controller too."""
    read_cache: bool | None = None

    @property
    def stripe_bytes(self) -> int:
        """A full stripe of data."""
        return self.data_disks * self.segment_bytes

    @property
    def text(self) -> str:
        """Its disks and what lies on each in turn: `8+2 × 128 KiB`, `4 × 512 KiB` without parity."""
        disks = f"{self.data_disks}+{self.parity_disks}" if self.parity_disks else str(self.data_disks)
        return f"{disks} × {units.format_bytes(self.segment_bytes)}"


def parse_array(text: str) -> Array:
    """The array that `segment=128k,data=8` describes. Raises `UsageError`."""
    texts: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals or key not in _KEYS:
            raise UsageError(f'RAID geometry "{text[: units.SHOWN]}": unknown key "{key[: units.SHOWN]}".', _remedy())
        if key in texts:
            raise UsageError(f'RAID geometry "{text[: units.SHOWN]}": {key} is given twice.', _remedy())
        texts[key] = value
    if missing := [key for key in ("segment", "data") if key not in texts]:
        raise UsageError(f'RAID geometry "{text[: units.SHOWN]}": {" and ".join(missing)} missing.', _remedy())
    values: dict[str, int | bool] = {}
    for key, value in texts.items():
        field, parse = _KEYS[key]
        try:
            values[field] = parse(value)
        except ValueError as error:
            raise UsageError(f'RAID geometry "{text[: units.SHOWN]}": {key}: {error}.', _remedy()) from error
    return Array(**values)  # type: ignore[arg-type]  # each parser gives its field's type


def _remedy() -> str:
    return f"Write it like {EXAMPLE}; further keys: {', '.join(key for key in _KEYS if key not in EXAMPLE)}."


def _size(text: str) -> int:
    size = units.parse_bytes(text)
    if size < 512 or size & (size - 1):
        raise ValueError(f'"{text}" is not a power of two of at least 512 bytes')
    return size


def _disks(text: str) -> int:
    return _bounded_number(text, 1, _MOST_DISKS)


def _parity(text: str) -> int:
    return _bounded_number(text, 0, _MOST_DISKS)


def _percent(text: str) -> int:
    return _bounded_number(text.removesuffix("%"), 0, 100)


def _bounded_number(text: str, least: int, most: int) -> int:
    number = units.parse_count(text)
    if not least <= number <= most:
        raise ValueError(f'"{text}" is not between {least} and {most}')
    return number


def _switch(text: str) -> bool:
    if text not in ("on", "off"):
        raise ValueError(f'"{text[: units.SHOWN]}" is neither on nor off')
    return text == "on"


_KEYS: dict[str, tuple[str, Callable[[str], int | bool]]] = {
    "segment": ("segment_bytes", _size),
    "data": ("data_disks", _disks),
    "parity": ("parity_disks", _parity),
    "cache-block": ("cache_block_bytes", _size),
    "cache-flush": ("cache_flush_percent", _percent),
    "write-cache": ("write_cache", _switch),
    "mirroring": ("mirroring", _switch),
    "read-cache": ("read_cache", _switch),
}
"""By the key that is typed: the field, and how its value is read. Parsers raise `ValueError`."""
