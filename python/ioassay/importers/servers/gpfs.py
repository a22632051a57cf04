"""GPFS (IBM Storage Scale): what `mmpmon` prints for `fs_io_s` and `io_s`, once or again and again in one file.

With `-p` a response is a line of keywords and values (`_fs_io_s_ _n_ 10.0.0.1 _nn_ node1 … _br_ 6291456 …`); without, a
line `mmpmon node ADDRESS name NODE fs_io_s OK` and a line for each value. Both count what the node's applications read
and wrote, from and to its page pool, since the file system was mounted or the counters were reset. Other responses are
left out. Format: IBM's documentation of mmpmon, "Display I/O statistics per mounted file system" and "… for the entire
node".

Not: `mmperfmon`. A value that it prints for a bucket is the mean of what the sensor counted in each of its periods, and
its output does not state how long those are. In a public one (NERSC/pytokio, tests/inputs/mmperfmon-nsdds.txt.gz, of
2019, buckets of 60 s) 110 of 300 amounts read from disks are multiples of 512 bytes, and 197 are a third of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ioassay.importers.numbers import NS_PER_S
from ioassay.importers.servers.counters import LARGEST, Count, CounterSource, Reading, require_end
from ioassay.importers.source import Refused, Source

_LINE = re.compile(r"_(fs_io_s|io_s)_ (.*)")
_OTHER = re.compile(r"_\w+_ .*")
_HEAD = re.compile(r"mmpmon node (\S+) name (\S+) (\S+)(?: .*)? (\S+)")
_VALUE = re.compile(r"([a-z][a-z ]*): +(\S.*?)\s*")
_NUMBER = re.compile(r"\d{1,20}")
_TIME = re.compile(r"([12]\d{9})/(\d{1,6})")

_KEYS: Mapping[str, str] = {
    "_nn_": "node",
    "_rc_": "status",
    "_cl_": "cluster",
    "_fs_": "filesystem",
    "_br_": "bytes read",
    "_bw_": "bytes written",
    "_oc_": "opens",
    "_cc_": "closes",
    "_rdc_": "reads",
    "_wc_": "writes",
}
"""Keywords of `-p`, with their names in the other format."""

_COUNTED = {
    "read": ("reads", "bytes read"),
    "write": ("writes", "bytes written"),
    "open": ("opens",),
    "close": ("closes",),
}
_PERFMON = re.compile(r"^Row +Timestamp |\|GPFS", re.MULTILINE)


@dataclass
class _Response:
    """A response, with its values by name."""

    line: int
    request: str
    node: str
    values: dict[str, str] = field(default_factory=dict)


def read(source: Source) -> list[Reading]:
    """Raises `Refused`."""
    responses = list(_responses(source))
    if responses:
        require_end(source)
    if not responses:
        if _PERFMON.search(source.text):
            raise Refused(
                "is of mmperfmon, whose values are means of its sensor's periods, which may have any length: use mmpmon"
            )
        raise Refused("has no response of mmpmon to fs_io_s or io_s")
    # A node's total over all file systems repeats the counts of each.
    detailed = {response.node for response in responses if response.request == "fs_io_s"}
    return [
        _reading(response)
        for response in responses
        if response.values.get("status", "0") == "0"
        and (response.request == "fs_io_s" or response.node not in detailed)
    ]


def _responses(source: Source) -> Iterator[_Response]:
    current: _Response | None = None
    for number, line in enumerate(source.lines, start=1):
        if match := _LINE.fullmatch(line):
            if current is not None:
                yield current
                current = None
            yield _of_line(match[1], match[2], number)
        elif match := _HEAD.fullmatch(line):
            if current is not None:
                yield current
            is_read = match[3] in ("fs_io_s", "io_s") and match[4] == "OK"
            current = _Response(number, match[3], match[2]) if is_read else None
        elif current is not None and (match := _VALUE.fullmatch(line)):
            if match[1] in current.values:
                raise Refused(f"has {match[1]!r} twice in one response", number)
            current.values[match[1]] = match[2]
        elif current is not None and line.strip() and not _OTHER.fullmatch(line):
            raise Refused(f"has a line that is no value of mmpmon, or is cut off: {line[:60]!r}", number)
    if current is not None:
        yield current


def _of_line(request: str, text: str, line: int) -> _Response:
    words = text.split()
    pairs = list(zip(words[::2], words[1::2], strict=False))
    if len(words) % 2 or not all(re.fullmatch(r"_\w+_", key) for key, _ in pairs):
        raise Refused(f"has a response that is cut off: {text[-60:]!r}", line)
    if len(dict(pairs)) < len(pairs):
        raise Refused("has a keyword twice in one response", line)
    keywords = dict(pairs)
    values = {name: keywords[key] for key, name in _KEYS.items() if key in keywords}
    values["timestamp"] = f"{keywords.get('_t_', '')}/{keywords.get('_tu_', '')}"
    return _Response(line, request, values.pop("node", keywords.get("_n_", "")), values)


def _reading(response: _Response) -> Reading:
    """The counters of a response. Raises `Refused` if a value is missing or invalid."""
    numbers = {}
    for name in {name for names in _COUNTED.values() for name in names}:
        text = response.values.get(name, "")
        if not _NUMBER.fullmatch(text) or int(text) >= LARGEST:
            raise Refused(f"has a response without a number of {name}: it is cut off", response.line)
        numbers[name] = int(text)
    moment = _TIME.fullmatch(response.values.get("timestamp", ""))
    if moment is None:
        raise Refused("has a response without a time: it is cut off", response.line)
    counts = {
        operation: Count(numbers[names[0]], numbers[names[1]] if len(names) > 1 else None)
        for operation, names in _COUNTED.items()
    }
    file_system = response.values.get("filesystem", "")
    return Reading(
        CounterSource("gpfs", f"{response.node}: {file_system}" if file_system else response.node, file_system),
        response.line,
        int(moment[1]) * NS_PER_S + int(moment[2]) * 1000,
        counts,
    )
