"""Files that people write for ioassay, damaged: studies and their settings, criteria, published systems; and results of
other tools.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path
from random import Random

from ioassay.importers import IMPORTERS
from ioassay.studies.conftest import SMALL
from ioassay.studies.library import builtin_studies
from ioassay.studies.resolve import scales
from ioassay.systems.library import LIBRARY
from ioassay.testing.importer_samples import FILES
from ioassay.yaml_models.source import Entries, Source, texts

from . import mutate, stored
from .attempt import Command
from .family import Family, of_commands

ROOT = Path(__file__).parents[2]

_ONLY_CHECKED = ("--launcher", "sbatch", "--script-only")
"""Options that stop after the engine's check of the plans. Nothing is run, because studies contain commands."""


@functools.cache
def _studies() -> tuple[list[str], list[str]]:
    examples = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").glob("*.yaml"))]
    originals = [SMALL, *(source.text for source in builtin_studies().values()), *examples]
    return originals, _words(originals)


def _words(originals: Sequence[str]) -> list[str]:
    return sorted(set(re.findall(r"[\w%/.-]+", " ".join(originals))))


def _study(random: Random, place: Path) -> list[Command]:
    originals, words = _studies()
    text = mutate.text(random, random.choice(originals), words)
    (place / "my.yaml").write_bytes(mutate.as_bytes(random, text))
    arguments = ["run", "my.yaml", "--target", ".", "--out", "run", *_ONLY_CHECKED]
    if "quick:" in text and random.random() < 0.7:
        arguments += ["--scale", "quick"]
    return [Command(arguments)]


@functools.cache
def _builtin() -> list[tuple[str, Source]]:
    return list(builtin_studies().items())


_PLAUSIBLE = ("1", "2", "4", "8", "4KiB", "64KiB", "1MiB", "64MiB", "1s", "10ms")
"""Values that many settings can have."""


def _setting(random: Random, place: Path) -> list[Command]:
    name, source = random.choice(_builtin())
    section = source.tree.entries.get("settings")
    declared = section.entries if isinstance(section, Entries) else {}
    arguments = ["run", name, "--target", ".", "--out", "run", *_ONLY_CHECKED]
    if scale_names := scales(source):
        arguments += ["--scale", random.choice(scale_names) if random.random() < 0.95 else mutate.value(random)]
    for _ in range(random.randint(1, 2)):
        key = random.choice(list(declared)) if random.random() < 0.95 else mutate.value(random)
        default = [text.text for text in texts(declared[key])] if key in declared else ["1"]
        count = random.choice((1, 2, 3, 50)) if len(default) > 1 else random.choice((*[1] * 19, 2))
        value = ",".join(
            mutate.value(random) if random.random() < 0.2 else random.choice((*default, *_PLAUSIBLE))
            for _ in range(count)
        )
        arguments += ["--set", random.choice((*[f"{key}={value}"] * 17, f"{key}=[{value}]", key, value))]
    if random.random() < 0.1:
        arguments += ["--time-limit", mutate.value(random)]
    return [Command([argument.replace("\0", "") for argument in arguments])]


@functools.cache
def _files_of_criteria() -> tuple[list[str], list[str]]:
    reference = (ROOT / "docs/reference/criteria.md").read_text(encoding="utf-8")
    originals = [
        (ROOT / "examples/reframe/src/criteria.yaml").read_text(encoding="utf-8"),
        *re.findall(r"^```yaml\n(.*?)^```", reference, re.MULTILINE | re.DOTALL),
    ]
    return originals, _words(originals)


def _criteria(random: Random, place: Path) -> list[Command]:
    originals, words = _files_of_criteria()
    text = mutate.text(random, random.choice(originals), words)
    (place / "criteria.yaml").write_bytes(mutate.as_bytes(random, text))
    run = stored.one_of(random, ("measured", "imported"))
    arguments = ["check", str(run), "--criteria", "criteria.yaml", "--junit", "junit.xml"]
    return [Command([*arguments, "--json"] if random.random() < 0.3 else arguments)]


@functools.cache
def _systems() -> tuple[list[str], list[str]]:
    originals = [source.text for source in LIBRARY.sources().values()]
    return originals, _words(originals)


def _system(random: Random, place: Path) -> list[Command]:
    originals, words = _systems()
    text = mutate.text(random, random.choice(originals), words)
    (place / "mine.yaml").write_bytes(mutate.as_bytes(random, text))
    return [
        Command(
            random.choice(
                (
                    ["systems", "./mine.yaml"],
                    ["systems", "./mine.yaml", "--check"],
                    ["systems", "./mine.yaml", "--json"],
                    ["compare", "./mine.yaml", "isilon-f800", "--format", random.choice(("md", "json", "csv"))],
                    ["compare", str(stored.one_of(random, ("measured",))), "./mine.yaml", "--format", "md"],
                )
            )
        )
    ]


def _import(random: Random, place: Path) -> list[Command]:
    tool = random.choice(list(IMPORTERS))
    samples = [path for path in sorted((FILES / tool).rglob("*")) if path.is_file()]
    sample = random.choice(samples)
    arguments = ["import", random.choice([tool] * 9 + list(IMPORTERS))]
    folder = place / "results"
    folder.mkdir()
    for path in sample.parent.iterdir() if tool == "io500" else [sample]:
        data = path.read_bytes()
        if path == sample:
            text = data.decode()
            data = mutate.as_bytes(random, mutate.text(random, text, _words([text])))
        (folder / path.name).write_bytes(data)
    arguments += [random.choice(("results", f"results/{sample.name}")), "--out", "run"]
    (form,) = random.choices(("md", "json", "csv", "html"), (10, 10, 10, 1))  # figures take seconds
    return [Command(arguments), Command(["report", "run", "--format", form])]


FAMILIES = (
    Family("studies", "Built-in studies and examples with damaged text", of_commands(_study)),
    Family("settings", "`--set`, `--scale` and `--time-limit` of built-in studies", of_commands(_setting)),
    Family("criteria", "Files of criteria", of_commands(_criteria), prepare=stored.prepare),
    Family("systems", "Files of published systems", of_commands(_system), prepare=stored.prepare),
    Family("imports", "What other tools printed, damaged, then reported", of_commands(_import)),
)
