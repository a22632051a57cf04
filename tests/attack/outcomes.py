"""The outcomes of attacks, in a file that grows over hours and interruptions, and the table of them for
docs/concepts/safety.md.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .attempt import HELD, Result
from .family import Family

_ROOT = Path(__file__).parents[2]
_HEAD = ("Attacks", "Tries", *(outcome.capitalize() for outcome in HELD), "Failures", "Longest ending")


@dataclass(frozen=True)
class Tried:
    """One attempt of a family."""

    index: int
    result: Result


@dataclass(frozen=True)
class Outcomes:
    """Outcomes of families, by name; each with one seed, from its first variation on."""

    file: Path

    def untried(self, family: Family, seed: int, tries: int) -> list[int]:
        """Which of the first `tries` variations are to be tried: those that failed, and those after the last one."""
        of = self._read().get(family.name)
        if of is None or of["seed"] != seed:
            return list(range(tries))
        return [failure["index"] for failure in of["failures"]] + list(range(of["tries"], tries))

    def add(self, family: Family, seed: int, tried: Iterable[Tried]) -> None:
        """Adds attempts, in the order of `untried`."""
        families = self._read()
        of = families.get(family.name)
        if of is None or of["seed"] != seed:
            of = {"seed": seed, "tries": 0, "outcomes": {}, "longest_s": 0.0, "commits": [], "failures": []}
        for one in tried:
            of["failures"] = [failure for failure in of["failures"] if failure["index"] != one.index]
            of["tries"] = max(of["tries"], one.index + 1)
            of["longest_s"] = max(of["longest_s"], round(one.result.seconds, 1))
            if one.result.held:
                of["outcomes"][one.result.outcome] = of["outcomes"].get(one.result.outcome, 0) + 1
            else:
                of["failures"].append({"index": one.index, **_described(one.result)})
        of["commits"] = list(dict.fromkeys([*of["commits"], _commit()]))
        families[family.name] = {"what": family.what, **of}
        machine = f"{os.cpu_count()} processors, Linux {platform.release()}"
        document = {"date": datetime.now(UTC).date().isoformat(), "machine": machine, "families": families}
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(document, indent=1) + "\n")

    def table(self) -> str:
        """All of them as Markdown."""
        document = json.loads(self.file.read_bytes())
        rows = [_HEAD, ("---", *("---:" for _ in _HEAD[1:]))]
        for of in document["families"].values():
            counts = [of["tries"], *(of["outcomes"].get(outcome, 0) for outcome in HELD), len(of["failures"])]
            rows.append((of["what"], *(f"{count:,}" for count in counts), f"{of['longest_s']:.1f} s"))
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        commits = ", ".join(dict.fromkeys(commit for of in document["families"].values() for commit in of["commits"]))
        return "\n".join([*lines, "", f"Commits {commits}; {document['date']}, {document['machine']}."])

    def _read(self) -> dict[str, Any]:
        return dict(json.loads(self.file.read_bytes())["families"]) if self.file.exists() else {}


def summary(tried: Sequence[Tried], seconds: float) -> str:
    """One line: how many ended how, and the longest ending."""
    counts = Counter(one.result.outcome for one in tried)
    shown = ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
    longest = max((one.result.seconds for one in tried), default=0)
    return f"{len(tried)} in {seconds:.0f} s: {shown}; longest {longest:.1f} s"


def _described(result: Result) -> dict[str, str]:
    return {"outcome": result.outcome, "signature": result.signature}


def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=_ROOT).stdout.strip()
