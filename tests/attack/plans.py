"""Plans made from their schema, and damaged ones: the engine checks each, and runs those that it accepts."""

from __future__ import annotations

import functools
import json
import signal
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import ioassay
from ioassay.studies.cases import expand
from ioassay.studies.library import builtin_studies
from ioassay.studies.resolve import resolve, scales
from ioassay.studies.target import Target

from . import foreign, mutate
from .attempt import ENGINE, Command
from .family import Family, of_commands

_SCHEMA = Path(ioassay.__file__).parent / "schemas/plan.json"
_NAMES = ("data", "tree", "write", "read", "a", "b.c", "", "..", "a/b", "x" * 300, "é")
_KNOWN = {
    "api": ("posix", "posix", "uring", "mmap", "object", "nfs", "null", "skeleton", "nothing"),
    "files": ("data", "data", "data", "other"),
    "trees": ("tree", "tree", "tree", "other"),
    "tree": ("tree", "tree", "other"),
}
"""Texts, and names in mappings, of keys that refer to something."""
_MOST_RANKS_RUN = 16
_TERMINATING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@functools.cache
def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(_SCHEMA.read_bytes())
    return schema


@functools.cache
def _whole() -> list[dict[str, Any]]:
    """Plans of the built-in studies, each workload once."""
    plans = {}
    for name, source in builtin_studies().items():
        resolved = resolve(source, "quick" if "quick" in scales(source) else None, [])
        for case, plan, _ in expand(resolved, "attack", Target("directory", "."), "local"):
            if plan["target"].get("directory"):
                plans[name, case.workload] = plan
    return list(plans.values())


def _made(random: Random, schema: dict[str, Any], key: str = "") -> Any:
    """A document of the schema, sometimes with an extreme or a wrong value. `key` is its key in the parent."""
    while reference := schema.get("$ref"):
        schema = _schema()["$defs"][reference.rpartition("/")[2]]
    if choices := schema.get("oneOf", schema.get("anyOf")):
        return _made(random, random.choice(choices), key)
    if "const" in schema or random.random() < 0.004:
        return schema.get("const", mutate.json_value(random))
    kinds = schema.get("type", "string")
    edge = random.choice((0, 1, 2**16, 2**31, 2**32 - 1, 2**53, 2**63, 2**64 - 1))
    makers: Callable[[], Any] = {
        "object": lambda: _object(random, schema, key),
        "array": lambda: [_made(random, schema["items"], key) for _ in range(random.choice((0, 1, 1, 1, 2, 3)))],
        "integer": lambda: random.choice((1, 1, 1, 2, 2, 3, 4096, 4096, 65536, edge)),
        "number": lambda: random.choice((0.0, 0.5, 1.0, -1.0, 1e-300, 1e308)),
        "boolean": lambda: random.random() < 0.5,
        "null": lambda: None,
        "string": lambda: random.choice(_KNOWN.get(key, _NAMES)),
    }[random.choice(kinds) if isinstance(kinds, list) else kinds]
    return makers()


def _object(random: Random, schema: dict[str, Any], parent_key: str) -> dict[str, Any]:
    properties: dict[str, Any] = schema.get("properties", {})
    required = schema.get("required", [])
    document = {
        key: _made(random, value, key) for key, value in properties.items() if key in required or random.random() < 0.2
    }
    if isinstance(more := schema.get("additionalProperties"), dict):
        names = _KNOWN.get(parent_key, _NAMES)
        document |= {random.choice(names): _made(random, more) for _ in range(random.choice((0, 1, 1, 2)))}
    return document


def _plan(random: Random, place: Path) -> list[Command]:
    plan = random.choice(_whole())
    match random.randrange(3):
        case 0:
            plan = mutate.json(random, plan)
        case 1:  # a part of it made anew
            parts = _schema()["properties"]
            key = random.choice(sorted(parts.keys() - {"version", "target", "run", "case"}))
            plan = plan | {key: _made(random, parts[key], key)}
        case _:
            plan = _object(random, _schema(), "") | {
                "version": plan["version"],
                "ranks": {"clients": 1, "per_client": 2},
            }
    if isinstance(plan, dict) and random.random() < 0.9:
        plan["run"], plan["case"] = "attack", "case"
        plan["target"] = _target(random, place)
    text = mutate.dumped(plan).replace('"drop-caches", ', "").encode()  # which would slow down the whole node
    (place / "plan.json").write_bytes(mutate.damaged(random, text) if random.random() < 0.1 else text)
    commands = [Command(["check", "plan.json", "--events", "checked.jsonl"], ENGINE)]
    if isinstance(plan, dict) and _can_be_run(plan):
        stop = random.choice(_TERMINATING)
        commands.append(Command(["run", "plan.json", "--events", "events.jsonl"], ENGINE, stop=stop))
    return commands


def _target(random: Random, place: Path) -> dict[str, Any]:
    named = place / foreign.NAMED
    if random.random() < 0.7:
        return {"directory": str(random.choice((*[place] * 9, named, named / "fifo", "missing", "/\0")))}
    path = str(named / random.choice(("link", "hard-link", "fifo", "ascending", "new", "directory-link", "tree")))
    there = random.choice(_schema()["$defs"]["There"]["oneOf"])["const"]
    return random.choice(
        (
            {"device": {"path": path, "destroy_data": path}},
            {"in-place": {"directory": str(named), "files": {"data": [path]}, "keep": random.random() < 0.5}},
            {"in-place": {"directory": str(named), "trees": {"tree": {"containers": [path], "there": there}}}},
        )
    )


def _can_be_run(plan: dict[str, Any]) -> bool:
    """False for plans with commands of the site or with too many ranks for this machine."""
    text = json.dumps(plan)
    ranks = plan.get("ranks")
    if "command" in text or '"hooks"' in text or not isinstance(ranks, dict):
        return False
    counts = [count for count in ranks.values() if isinstance(count, int)]
    return len(counts) == 2 and 0 < counts[0] * counts[1] <= _MOST_RANKS_RUN


FAMILY = Family("plans", "Plans from their schema and of studies, damaged; checked, then run", of_commands(_plan))
