"""Checks of rules from any kind of file. The agent repeats them.

Not: files of rules (`contract`, `mistral`), enforcement (`crates/agent`, `crates/recorder`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ioassay.monitoring import calls
from ioassay.protocol.contract import Jobs, Measure, Rule, Scope
from ioassay.protocol.facts import LONGEST_WINDOW_S
from ioassay.protocol.record_layout import OPERATIONS, PATH_RULES, PATH_RULES_BYTES, PATTERNS_BYTES, SLOTS
from ioassay.text import units
from ioassay.yaml_models.source import quoted

MEASURES: Final[dict[str, Measure]] = {
    "bandwidth": "bandwidth",
    "count": "count",
    "mean latency": "mean-latency",
    "longest latency": "maximum-latency",
    "shortest latency": "minimum-latency",
    "total latency": "total-latency",
    "seek distance": "seek-distance",
    "resident memory": "resident-memory",
    "virtual memory": "virtual-memory",
    "user time": "user-time",
    "system time": "system-time",
    "I/O wait time": "io-wait-time",
}
"""The measure of each key."""

KEY: Final[dict[Measure, str]] = {measure: key for key, measure in MEASURES.items()}

OF_PROCESSES: Final = frozenset[Measure](
    ("resident-memory", "virtual-memory", "user-time", "system-time", "io-wait-time")
)
"""Measures of whole processes; the others are of calls."""

IN_BYTES: Final = frozenset[Measure](("bandwidth", "seek-distance", "resident-memory", "virtual-memory"))
"""Measures in bytes. `count` is a number, the others are times in nanoseconds."""

OVER_NODES: Final = frozenset[Scope](("whole-job", "user"))
"""Scopes whose limits the agents of several nodes share."""

THROTTLED: Final = frozenset[Measure](("bandwidth", "count"))


def absolute_path(text: str) -> str:
    """The path of a rule, in its shortest form. Raises `ValueError`."""
    if not text.startswith("/") or ".." in text.split("/"):
        raise ValueError(f"{quoted(text)} is not an absolute path; write it without `..`, as /scratch/project")
    return re.sub("/+", "/", text).rstrip("/") or "/"


def check(rule: Rule) -> None:
    """Raises `ValueError` if parts of a rule are impossible, or contradict each other."""
    if not rule["label"] or not rule["label"].isprintable():
        raise ValueError("has a label that is empty or cannot be printed; write another one")
    if (path := rule.get("path")) is not None:
        absolute_path(path)
        if not path.isprintable():
            raise ValueError("has a path that cannot be printed; write another one")
    _check_numbers(rule)
    if unknown := next((name for name in rule["calls"] if name not in OPERATIONS), None):
        raise ValueError(f"has calls {quoted(unknown)}, which no recorder counts; leave them out")
    _check_measure(rule)
    _check_jobs(rule)


def _check_jobs(rule: Rule) -> None:
    jobs = rule.get("jobs", Jobs())
    if OVER_NODES.issuperset({rule["scope"]}) and rule["action"] == "monitor":
        scope = rule["scope"].replace("-", " ")
        raise ValueError(f"monitors with `scope: {scope}`, which only throttles; use `scope: job`, or throttle it")
    most = jobs.get("most_nodes")
    if most is not None and most < max(1, jobs.get("least_nodes", 0)):
        raise ValueError("has numbers of nodes that no job can have; write the smaller number first")
    if not all(name and name.isprintable() for name in (*jobs.get("projects", ()), *jobs.get("names", ()))):
        raise ValueError("has a project or a job name that is empty or cannot be printed; write another one")


def _check_numbers(rule: Rule) -> None:
    most = rule.get("most_bytes")
    if not 1 <= rule["window_s"] <= LONGEST_WINDOW_S:
        raise ValueError(f"has a window of {rule['window_s']} s; write 1s to {LONGEST_WINDOW_S}s")
    if not 0 <= rule["limit"] <= units.LARGEST:
        raise ValueError(f"has a limit of {rule['limit']} over its window; it must fit 64 bits, so write less")
    if not 0 <= rule["least_bytes"] <= (units.LARGEST if most is None else most) <= units.LARGEST:
        raise ValueError("has sizes that no transfer can have; write the smaller size first")


def _check_measure(rule: Rule) -> None:
    measure, classes = rule["measure"], rule["calls"]
    key = KEY[measure]
    has_sizes = bool(rule["least_bytes"]) or rule.get("most_bytes") is not None
    if rule["action"] == "throttle":
        if measure not in THROTTLED:
            raise ValueError(f"throttles `{key}`; throttle `bandwidth` or `count`, or monitor it")
        if rule["limit"] == 0:
            raise ValueError("has a limit of 0, which would stop the job for good; write a larger one")
        if rule["limit"] < rule["window_s"]:
            wrong = f"has a limit of {rule['limit']} in {rule['window_s']} s, and the lowest rate is 1 per second"
            raise ValueError(f"{wrong}; allow more, or monitor it")
    if measure in OF_PROCESSES:
        if classes or rule.get("path") is not None or has_sizes:
            raise ValueError(f"`{key}` is measured of whole processes; leave out `calls`, `path` and `sizes`")
        return
    if not classes:
        raise ValueError(f"`{key}` is measured of calls; add which, for example `calls: [read, write]`")
    if measure in ("bandwidth", "seek-distance") and not calls.moves_bytes(classes):
        raise ValueError(f"`{key}` of calls that move no bytes; use `read`, `write` and the like")
    if has_sizes and not calls.moves_bytes(classes):
        raise ValueError("has `sizes` of calls that move no bytes; use `read`, `write` and the like, or no sizes")
    if rule["action"] == "throttle" and calls.NOT_HELD.issuperset(classes):
        raise ValueError("nothing can hold these calls back; monitor them")


def conflicts(rules: Sequence[Rule]) -> Iterator[tuple[int, str, str]]:
    """Conflicts between rules that are valid on their own: the rule's index, the problem, the remedy."""
    # The agent checks rules for selected jobs, when it knows the jobs.
    unconditional = [rule for rule in rules if rule["measure"] not in OF_PROCESSES and not rule.get("jobs")]
    # With more rules than slots, rules with paths get slots only when a job has one of their files.
    has_table = sum(map(_slots, unconditional)) > SLOTS or sum(map(_path_bytes, unconditional)) > PATTERNS_BYTES
    checked = {id(rule) for rule in unconditional}
    slots = with_paths = paths_bytes = 0
    labels: set[str] = set()
    for index, rule in enumerate(rules):
        if rule["label"] in labels:
            yield index, f"the label {quoted(rule['label'])} is given twice", "rename one of them"
        labels.add(rule["label"])
        if id(rule) not in checked:
            continue
        if has_table and rule.get("path") is not None:
            with_paths += 1
            paths_bytes += len((rule.get("path") or "").encode())
            if with_paths == PATH_RULES + 1:
                yield index, f"more rules with paths than {PATH_RULES}", "leave some out"
        else:
            slots += _slots(rule)
            if slots - _slots(rule) <= SLOTS < slots:
                wrong = f"more rules without a path than the {SLOTS} that recorders count; a throttling one takes two"
                yield index, wrong, "leave some out"
        if paths_bytes > PATH_RULES_BYTES:
            yield index, f"the paths up to here have more than {PATH_RULES_BYTES} bytes", "write shorter ones"
            return


def _slots(rule: Rule) -> int:
    """The slots of recorders that it takes."""
    return 2 if rule["action"] == "throttle" else 1


def _path_bytes(rule: Rule) -> int:
    """The bytes of its path if each rule has slots."""
    return _slots(rule) * len((rule.get("path") or "").encode())
