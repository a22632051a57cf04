"""The kinds of values that a study's keys take: text in, checked values in base units out.

Not here: which keys there are (`studies.model`, `files`, `steps`), words that carry values (`studies.spelling`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Annotated, Literal

from ioassay.protocol import facts
from ioassay.store.document import Benchmark, CaseOrder, Operation
from ioassay.studies import repetitions, spelling
from ioassay.text import units
from ioassay.text.units import RateUnit
from ioassay.yaml_models.model import BeforeValidator
from ioassay.yaml_models.source import quoted
from ioassay.yaml_models.values import Kind, between, parsed, text_of

SHORTEST_TIME_LIMIT_NS = 10**9
DEEPEST_TREE = 64


def _range(text: str) -> list[str]:
    """`1 to 4` as `1`, `2`, `3`, `4`; any other text as the only one."""
    match = re.fullmatch(r"([0-9]{1,9}) to ([0-9]{1,9})", " ".join(text.split()))
    if match is None:
        return [text]
    first, last = int(match[1]), int(match[2])
    if not 1 <= first < last <= facts.MOST_RANKS:
        raise ValueError(f"{quoted(text)} is not a range; write for example 1 to 16, at most {facts.MOST_RANKS}")
    return [str(count) for count in range(first, last + 1)]


def _counts(noun: str) -> BeforeValidator:
    """One count, or an ascending list of them to sweep over."""

    def check(value: object) -> list[int]:
        written = value if isinstance(value, list) else [value]
        counts = [units.parse_count(count) for item in written for count in _range(text_of(item))]
        if not counts:
            raise ValueError(f"is empty; list numbers of {noun}, for example [1, 2, 4]")
        ascending = sorted({count for count in counts if count})
        if not 1 <= min(counts) <= max(counts) <= facts.MOST_RANKS:
            raise ValueError(f"has a number out of range; use 1 to {facts.MOST_RANKS}")
        if counts != ascending:
            wrong = "lists a number twice" if len(ascending) < len(counts) else "is not in ascending order"
            raise ValueError(f"{wrong}; write {ascending}")
        return counts

    return BeforeValidator(check)


def _share(text: str) -> Fraction:
    """`1/4` or `25%`."""
    match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})|([0-9]{1,3}) ?%", text)
    whole = int(match[2] or 100) if match else 0
    share = Fraction(int(match[1] or match[3]), whole) if match and whole else Fraction(0)
    if not 0 < share <= 1:
        raise ValueError(f"{quoted(text)} is not a share of the ranks; write for example 1/4 or 25%")
    return share


def _plain_path(text: str) -> str:
    if not text.startswith("/"):
        raise ValueError(f"{quoted(text)} is a relative path; write an absolute path")
    return text


def _host_name(text: str) -> str:
    # It becomes a word of a command line: nothing that would be taken for an option of `ssh`.
    if not re.fullmatch(r"[A-Za-z0-9_\[][A-Za-z0-9._:@\[\]-]{0,254}", text):
        raise ValueError(f"{quoted(text)} is not a host name; write for example nfs1 or root@10.0.0.1")
    return text


def _words(value: object) -> str | list[str]:
    """A line for a shell, or a program and its arguments."""
    words = [text_of(item) for item in value] if isinstance(value, list) else None
    line = text_of(value).strip() if words is None else " ".join(words)
    if not line or words == [] or (words and not words[0]):
        raise ValueError("is empty; write a line for the shell, or a list of words")
    if any(ord(letter) < 32 and letter not in "\n\t" for letter in line):
        raise ValueError("has characters that cannot be printed; leave them out")
    return line if words is None else words


def _api(text: str) -> str:
    if "/" not in text and not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}", text):
        raise ValueError(
            f"{quoted(text)} is not a storage API; write the name of one, or the path of a library with a `/`"
        )
    return text


def _plug_in_options(value: object) -> dict[str, str]:
    """Keys with texts; of those with keys of their own each becomes `KEY.KEY`."""
    if not isinstance(value, dict):
        raise ValueError("is not a set of keys; write for example {collective: yes}")
    flat: dict[str, str] = {}
    for key, option in value.items():
        if isinstance(option, dict):
            flat |= {f"{key}.{inner}": text_of(each) for inner, each in option.items()}
        else:
            flat[key] = text_of(option)
    return flat


def _spelled(choice: spelling.Choice) -> BeforeValidator:
    return parsed(choice.text)


def _checked(check: Callable[[str], object]) -> BeforeValidator:
    """A text that `check` does not refuse, with single spaces."""

    def keep(text: str) -> str:
        text = " ".join(text.split())
        check(text)
        return text

    return parsed(keep)


def _forms(choice: spelling.Choice) -> Kind:
    return Kind(", ".join(f"`{form.example}`" for form in choice.forms.values()))


def utilisation(text: str) -> float:
    """How busy accelerators are to be, as a share: `90 %` is 0.9. Raises `ValueError`."""
    share = units.parse_share(text.replace(" ", ""))
    if not 0 < share < 1:
        raise ValueError(f"{quoted(text)} is out of range; write more than 0 % and less than 100 %, such as 90 %")
    return share


def each_once(what: str) -> Callable[[Iterable[str]], None]:
    """Refuses a list that names something twice."""

    def check(names: Iterable[str]) -> None:
        names = list(names)
        if len(set(names)) < len(names):
            raise ValueError(f"{what} twice; list each once")

    return check


Path = Annotated[str, parsed(_plain_path), Kind("path")]
ApiName = Annotated[str, parsed(_api), Kind("name or path")]
PlugInOptions = Annotated[dict[str, str], BeforeValidator(_plug_in_options), Kind("values by name")]
Share = Annotated[Fraction, parsed(_share), Kind("share, such as `1/4` or `25%`")]
Percent = Annotated[int, parsed(lambda text: spelling.percent(text, 1, 99)), Kind("percentage")]
Utilisation = Annotated[float, parsed(utilisation), Kind("percentage, such as `90 %`")]
Searched = Annotated[Literal["none", "accelerators"], BeforeValidator(text_of)]
Repeated = Annotated[repetitions.Repetitions, parsed(repetitions.repetitions), Kind(repetitions.FORMS)]
OrderOfCases = Annotated[CaseOrder, BeforeValidator(text_of)]
Ordinal = Annotated[int, between(units.parse_count, 0, 2**32 - 1), Kind("whole number")]
Depth = Annotated[int, between(units.parse_count, 1, facts.MOST_IN_FLIGHT), Kind("whole number")]
Batch = Annotated[int, between(units.parse_count, 0, facts.MOST_IN_FLIGHT), Kind("whole number")]
Retries = Annotated[int, between(units.parse_count, 0, facts.MOST_RETRIES), Kind("whole number")]
Vectors = Annotated[int, between(units.parse_count, 1, facts.MOST_VECTORS), Kind("whole number")]
Levels = Annotated[int, between(units.parse_count, 0, DEEPEST_TREE), Kind("whole number")]
Seed = Annotated[int, parsed(units.parse_count), Kind("whole number")]
Clients = Annotated[list[int], _counts("clients"), Kind("list of whole numbers, ascending, or `1 to 4`")]
Swept = Annotated[list[int], _counts("ranks"), Kind("whole number, or a list of them, ascending, or `1 to 16`")]
SizeOrNone = Annotated[int, between(units.parse_bytes, 0, 2**63 - 1, units.format_bytes), Kind("size")]
Transfer = Annotated[int, between(units.parse_bytes, 1, facts.LARGEST_TRANSFER_BYTES, units.format_bytes), Kind("size")]
Pause = Annotated[
    int, between(units.parse_duration_ns, 0, facts.LONGEST_WAIT_NS, units.format_duration), Kind("duration")
]
TimeLimit = Annotated[
    int,
    between(units.parse_duration_ns, SHORTEST_TIME_LIMIT_NS, facts.LONGEST_WAIT_NS, units.format_duration),
    Kind("duration"),
]
Waiting = Annotated[int, parsed(spelling.waiting), Kind("duration")]
Stonewall = Annotated[
    int | None,
    parsed(lambda text: None if text == "none" else spelling.waiting(text)),
    Kind("duration, or `none`"),
]
SampleInterval = Annotated[
    int,
    between(units.parse_duration_ns, facts.SHORTEST_SAMPLE_NS, facts.LONGEST_SAMPLE_NS, units.format_duration),
    Kind("duration"),
]
Order = Annotated[str, _spelled(spelling.ORDER), _forms(spelling.ORDER)]
AnyOrder = Annotated[str, _spelled(spelling.ANY_ORDER), _forms(spelling.ANY_ORDER)]
Fsync = Annotated[str, _spelled(spelling.FSYNC), _forms(spelling.FSYNC)]
Payload = Annotated[str, _spelled(spelling.PAYLOAD), _forms(spelling.PAYLOAD)]
ItemPayload = Annotated[str, _spelled(spelling.ITEM_PAYLOAD), _forms(spelling.ITEM_PAYLOAD)]
Source = Annotated[str, _spelled(spelling.SOURCE), _forms(spelling.SOURCE)]
Rate = Annotated[str, _checked(spelling.rate_plan), Kind("`200MB/s` or `5kIOPS`")]
Think = Annotated[str, _checked(spelling.think_plan), Kind("`10ms every 100 operations`")]
PageCache = Annotated[Literal["buffered", "uncached"], BeforeValidator(text_of)]
Layout = Annotated[Literal["N-N", "N-1", "N-M"], BeforeValidator(text_of)]
Interleave = Annotated[Literal["segmented", "strided"], BeforeValidator(text_of)]
KindOfTarget = Annotated[Literal["directory", "device", "url"], BeforeValidator(text_of)]
Verify = Annotated[Literal["reads", "writes"], BeforeValidator(text_of)]
SizeAtOpen = Annotated[Literal["empty", "full", "preallocated"], BeforeValidator(text_of)]
Lock = Annotated[Literal["range", "file"], BeforeValidator(text_of)]
Advice = Annotated[
    Literal["normal", "sequential", "random", "will-need", "dont-need", "no-reuse", "huge-page", "no-huge-page"],
    BeforeValidator(text_of),
]
Sharing = Annotated[Literal["unique", "shared", "shared-items"], BeforeValidator(text_of)]
Items = Annotated[Literal["files", "directories"], BeforeValidator(text_of)]
CreateWith = Annotated[Literal["open", "mknod"], BeforeValidator(text_of)]
Paths = Annotated[Literal["full", "at"], BeforeValidator(text_of)]
CacheMethod = Annotated[
    Literal["drop-caches", "fadvise", "remount", "read-other-rank"],
    BeforeValidator(text_of),
]
HostName = Annotated[str, parsed(_host_name), Kind("host")]
Words = Annotated[str | list[str], BeforeValidator(_words), Kind("line, or list of words")]
AnyOperation = Annotated[Operation, BeforeValidator(text_of)]
Scores = Annotated[Benchmark, BeforeValidator(text_of)]
OperationOrAll = Annotated[Operation | Literal["all"], BeforeValidator(text_of)]
Unit = Annotated[RateUnit, BeforeValidator(text_of)]
