"""Whether what a setting shows after a change means what was asked: the kernel and its tools print values their way.

A value that was clamped or rounded does not mean the same, however near it is: who asked 1023 and has 1020 must know.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

_SWITCHES = {"y": "1", "n": "0", "on": "1", "off": "0", "yes": "1", "no": "0", "true": "1", "false": "0"}
_SIZE = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)\s?([kmgtp])(?:i?b)?", re.IGNORECASE)
_MASK = re.compile(r"[0-9a-f]+(,[0-9a-f]+)*", re.IGNORECASE)
_LIST = re.compile(r"[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*")
_MOST_LISTED = 1 << 20


def is_same(requested: str, shown: str, unit: int = 1) -> bool:
    """Whether both values mean the same.

    `unit`: in how many bytes the setting counts, for sizes with a unit such as `4M`.
    """
    if requested == shown:
        return True
    words, others = requested.split(), shown.split()
    if len(words) != len(others):
        return False
    if len(words) > 1:
        return all(map(is_same, words, others))
    return (
        _number(requested, unit) == _number(shown, unit) is not None
        or (shown in ("Y", "N", "0", "1") and _switch(requested) == _switch(shown))
        or (_is_mask(shown) and _mask(requested) == _mask(shown) is not None)
        or _listed(requested) == _listed(shown) is not None
    )


def _number(text: str, unit: int) -> Decimal | None:
    """A number, of a size with its unit what the setting counts; not octal, which some files read and others do not."""
    if size := _SIZE.fullmatch(text):
        return Decimal(size[1]) * (1 << 10 * ("kmgtp".index(size[2].lower()) + 1)) / unit
    if re.fullmatch(r"-?0x[0-9a-f]+", text, re.IGNORECASE):
        return Decimal(int(text, 16))
    if re.fullmatch(r"-?0[0-9]+", text):
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _switch(text: str) -> str:
    return _SWITCHES.get(text.lower(), text)


def _is_mask(text: str) -> bool:
    """Whether it can only be a mask of processors: `00ff`, `ffffffff,00000000`."""
    return bool(_MASK.fullmatch(text)) and (len(text.partition(",")[0]) == 8 or text.startswith("0"))


def _mask(text: str) -> int | None:
    return int(text.replace(",", ""), 16) if _MASK.fullmatch(text) else None


def _listed(text: str) -> set[int] | None:
    """The numbers that `0-3,8` lists; `None` of another text, and of a single number."""
    if not _LIST.fullmatch(text) or text.isdecimal():
        return None
    numbers: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if int(last or first) - int(first) > _MOST_LISTED:
            return None
        numbers |= set(range(int(first), int(last or first) + 1))
    return numbers
