"""Folds names of many nodes into one word, as ClusterShell, pdsh and Slurm write it: `n[001-297,300]`."""

from __future__ import annotations

import re
from collections.abc import Iterable


def folded(names: Iterable[str]) -> str:
    """The names in numeric order; names that differ in one number are folded."""
    numbers: dict[tuple[str, str, int], set[int]] = {}
    others: dict[str, None] = {}
    for name in names:
        match = _last_number(name)
        if match is None:
            others[name] = None
            continue
        prefix, digits, suffix = match
        # Only leading zeros fix the width: n9 and n10 are in one set, n09 and n9 are not.
        width = len(digits) if digits.startswith("0") and len(digits) > 1 else 0
        numbers.setdefault((prefix, suffix, width), set()).add(int(digits))
    for prefix, suffix, width in [key for key in numbers if key[2]]:
        # 100 has the width of 001 without a leading zero.
        plain = numbers.get((prefix, suffix, 0), set())
        same_width = {number for number in plain if len(str(number)) == width}
        numbers[prefix, suffix, width] |= same_width
        plain -= same_width
    sets = [_set(prefix, suffix, width, members) for (prefix, suffix, width), members in numbers.items() if members]
    return ",".join([*sets, *others])


def _last_number(name: str) -> tuple[str, str, str] | None:
    """The name around its last number before the first dot: numbers in a domain do not belong to the node."""
    host, dot, domain = name.partition(".")
    match = re.fullmatch(r"(.*?)(\d{1,18})(\D*)", host, re.DOTALL)
    return (match[1], match[2], match[3] + dot + domain) if match is not None else None


def _set(prefix: str, suffix: str, width: int, numbers: set[int]) -> str:
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    texts = [f"{first:0{width}}" + (f"-{last:0{width}}" if last > first else "") for first, last in ranges]
    if len(numbers) == 1:
        return f"{prefix}{texts[0]}{suffix}"
    return f"{prefix}[{','.join(texts)}]{suffix}"
