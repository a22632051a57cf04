"""Words of a study that carry values, such as `strided 4` or `every 8 writes`: how they are spelled, and what the
plan says for each.

A whole choice is one text, so that a setting or `--set` can hold it. Each form is declared once: the page of reference,
the refusals and the plan come from it.

Not here: which key takes which words (`studies.files`, `studies.steps`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ioassay.protocol.facts import LONGEST_WAIT_NS
from ioassay.text import units
from ioassay.text.units import format_duration
from ioassay.yaml_models.source import nearest, quoted

if TYPE_CHECKING:
    from ioassay.protocol import plan


@dataclass(frozen=True)
class Form:
    """One spelling: an example of it, what it means, and how it becomes the plan's value."""

    example: str
    meaning: str
    pattern: str
    plan: Callable[..., Any]
    """From the texts of the pattern's groups. Raises `ValueError` that says what would be right."""


@dataclass(frozen=True)
class Choice:
    """The spellings of a key's value, by their first word."""

    noun: str
    forms: Mapping[str, Form]

    def text(self, written: str) -> str:
        """The one spelling that is kept. Raises `ValueError`."""
        text = " ".join(written.split())
        self.plan(text)
        return text

    def plan(self, text: str) -> Any:
        """What the plan says for `text`. Raises `ValueError`."""
        word = text.split(" ", maxsplit=1)[0]
        form = self.forms.get(word)
        if form is None:
            raise ValueError(f"{quoted(text)} is unknown; {nearest(word, self.forms)}")
        match = re.fullmatch(form.pattern, text)
        if match is None:
            raise ValueError(f"{quoted(text)} is not a valid {self.noun}; write for example `{form.example}`")
        return form.plan(*match.groups())

    def described(self) -> str:
        """All spellings with their meanings."""
        return " ".join(f"`{form.example}`: {form.meaning}." for form in self.forms.values())


def percent(text: str, lowest: int, highest: int) -> int:
    """A whole percentage, with or without its sign."""
    match = re.fullmatch(r"([0-9]{1,3}) ?%?", text)
    if match is None or not lowest <= int(match[1]) <= highest:
        raise ValueError(f"{quoted(text)} is out of range; use {lowest}% to {highest}%")
    return int(match[1])


def count(text: str, highest: int = units.LARGEST) -> int:
    """A whole number of at least one."""
    value = units.parse_count(text)
    if not 1 <= value <= highest:
        raise ValueError(f"{quoted(text)} is out of range; use 1 to {highest}")
    return value


def waiting(text: str) -> int:
    """A duration in nanoseconds of more than none, up to a day."""
    value = units.parse_duration_ns(text)
    if not 1 <= value <= LONGEST_WAIT_NS:
        raise ValueError(f"{quoted(text)} is out of range; use 1 ns to {format_duration(LONGEST_WAIT_NS)}")
    return value


def _exponent(text: str) -> float:
    if not 0 < float(text) <= 10:
        raise ValueError(f"{quoted(text)} is out of range; use an exponent above 0, up to 10")
    return float(text)


def _word(word: str, meaning: str) -> Form:
    return Form(word, meaning, word, lambda: word)


_NUMBER = r"([0-9]{1,40})"
_PERCENT = r"([0-9]{1,40}%?)"

ORDER = Choice(
    "order",
    {
        "sequential": _word("sequential", "ascending offsets"),
        "backward": _word("backward", "descending offsets"),
        "strided": Form(
            "strided 4",
            "every 4th transfer, then every 4th beginning with the second, and so on, each exactly once",
            f"strided {_NUMBER}",
            lambda stride: {"strided": count(stride)},
        ),
        "random": _word("random", "each transfer exactly once, shuffled"),
        "random-with-replacement": _word("random-with-replacement", "each offset drawn afresh, some twice, some never"),
        "zipf": Form(
            "zipf 1.1",
            "each offset drawn from a Zipf distribution with this exponent, few often, most rarely",
            r"zipf ([0-9]{1,9}(?:\.[0-9]{1,9})?)",
            lambda exponent: {"zipf": _exponent(exponent)},
        ),
        "hot-spot": Form(
            "hot-spot 10% 90%",
            "the first 10 % of a rank's transfers get 90 % of its operations",
            f"hot-spot {_PERCENT} {_PERCENT}",
            lambda transfers, operations: {
                "hot-spot": {
                    "transfers_percent": percent(transfers, 1, 99),
                    "operations_percent": percent(operations, 1, 99),
                }
            },
        ),
    },
)

ITEM_ORDER = Choice(
    "order",
    {
        "sequential": _word("sequential", "directory after directory"),
        "interleaved": _word("interleaved", "one of each directory, then the next of each"),
        "random": _word("random", "each exactly once, shuffled (mdtest's `-R`)"),
    },
)
"""Of the items of a tree."""

ANY_ORDER = Choice("order", {**ITEM_ORDER.forms, **ORDER.forms})
"""Of a phase on a file set or a tree."""

COVERING = ("sequential", "backward", "strided", "random")
"""The orders that meet each transfer once, by their first word: only what they wrote can be read."""

FSYNC = Choice(
    "moment for an fsync",
    {
        "never": _word("never", "the data may stay in memory"),
        "at-close": _word("at-close", "each file before it is closed, IOR's `-e`"),
        "at-end": _word("at-end", "all files of a rank after its last write"),
        "every": Form(
            "every 8 writes",
            "after every 8th write and before the file is closed; `every 1 writes` is IOR's `-Y`",
            f"every {_NUMBER} writes?",
            lambda writes: {"every-writes": count(writes)},
        ),
    },
)

PAYLOAD = Choice(
    "payload",
    {
        "repeated": _word("repeated", "one transfer of random bytes per rank again and again: cheap, incompressible"),
        "unique": _word("unique", "random bytes, different everywhere: nothing compresses, nothing comes twice"),
        "zero": _word("zero", "zeros"),
        "reducible": Form(
            "reducible 50% 20%",
            "as `unique`, but 50 % of each 4 KiB block are zeros and 20 % of the blocks are copies",
            f"reducible {_PERCENT} {_PERCENT}",
            lambda zero, duplicate: {
                "kind": "reducible",
                "zero_percent": percent(zero, 0, 100),
                "duplicate_percent": percent(duplicate, 0, 100),
            },
        ),
        **{
            f"ior-{name}": Form(
                f"ior-{name} 7",
                f"IOR's `-l {name}` with `-G 7`",
                rf"ior-{name} (-?[0-9]{{1,40}})",
                lambda signature, name=name: {"kind": f"ior-{name}", "signature": _signature(signature)},
            )
            for name in ("offset", "timestamp", "incompressible", "random")
        },
    },
)

ITEM_PAYLOAD = Choice(
    "payload of items", {word: form for word, form in PAYLOAD.forms.items() if word.startswith("ior-")}
)
"""What the items of a tree can hold: what mdtest writes."""


def _signature(text: str) -> int:
    if not -(2**31) <= int(text) < 2**31:
        raise ValueError(f"{quoted(text)} is out of range; use a number of 32 bits")
    return int(text)


def payload_plan(text: str) -> plan.Payload:
    """The plan's payload: an object with its kind."""
    payload = PAYLOAD.plan(text)
    return cast("plan.Payload", payload if isinstance(payload, dict) else {"kind": payload})


SOURCE = Choice(
    "part to read",
    {
        "own": _word("own", "each rank reads what it wrote"),
        "shift": Form(
            "shift 1",
            "each rank reads the part of the rank 1 further on, with a rank on each node IOR's `-C` with `-Q 1`",
            f"shift {_NUMBER}",
            lambda by: {"shift": count(by, 2**32 - 1)},
        ),
        "shuffled": Form(
            "shuffled 7",
            "parts are exchanged at random, IOR's `-ZZ` with `-X 7`",
            f"shuffled {_NUMBER}",
            lambda seed: {"shuffled": units.parse_count(seed)},
        ),
    },
)

_THINK = re.compile(r"([0-9]+ ?[a-z]+)(?: every ([0-9]+) operations?)?")


def think_plan(text: str) -> plan.Think:
    """`10ms` or `10ms every 100 operations` as the plan's think time."""
    match = _THINK.fullmatch(text)
    if match is None:
        units.parse_duration_ns(text)  # the better message, where the duration is what is wrong
        raise ValueError(f"{quoted(text)} is not a think time; write for example `10ms every 100 operations`")
    return {"duration_ns": waiting(match[1]), "every_operations": count(match[2] or "1")}


def rate_plan(text: str) -> plan.Rate:
    """`200MB/s` or `5kIOPS` as the plan's rate."""
    operations = text.endswith("IOPS")
    value = units.parse_operations_rate(text) if operations else units.parse_rate(text)
    if value == 0:
        raise ValueError(f"{quoted(text)} does nothing; leave the rate out for full speed")
    return {"operations_per_s": value} if operations else {"bytes_per_s": value}
