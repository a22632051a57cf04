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
        """The variations of the first `tries` to try: those that failed, and those after the last one."""
        earlier = self._read().get(family.name)
        if earlier is None or earlier["seed"] != seed:
            return list(range(tries))
        return [failure["index"] for failure in earlier["failures"]] + list(range(earlier["tries"], tries))

    def add(self, family: Family, seed: int, tried: Iterable[Tried]) -> None:
        """Adds attempts, in the order of `untried`."""
        families = self._read()
        entry = families.get(family.name)
        if entry is None or entry["seed"] != seed:
            entry = {
                "seed": seed,
                "tries": 0,
                "outcomes": {},
                "longest_s": 0.0,
                "commits": [],
                "failures": [],
            }
        for attempt in tried:
            entry["failures"] = [failure for failure in entry["failures"] if failure["index"] != attempt.index]
            entry["tries"] = max(entry["tries"], attempt.index + 1)
            entry["longest_s"] = max(entry["longest_s"], round(attempt.result.seconds, 1))
            if attempt.result.held:
                entry["outcomes"][attempt.result.outcome] = entry["outcomes"].get(attempt.result.outcome, 0) + 1
            else:
                entry["failures"].append({"index": attempt.index, **_described(attempt.result)})
        entry["commits"] = list(dict.fromkeys([*entry["commits"], _commit()]))
        families[family.name] = {"what": family.what, **entry}
        machine = f"{os.cpu_count()} processors, Linux {platform.release()}"
        document = {"date": datetime.now(UTC).date().isoformat(), "machine": machine, "families": families}
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(document, indent=1) + "\n")

    def table(self) -> str:
        """The table of all families as Markdown."""
        document = json.loads(self.file.read_bytes())
        rows = [_HEAD, ("---", *("---:" for _ in _HEAD[1:]))]
        for entry in document["families"].values():
            counts = [
                entry["tries"],
                *(entry["outcomes"].get(outcome, 0) for outcome in HELD),
                len(entry["failures"]),
            ]
            rows.append((entry["what"], *(f"{count:,}" for count in counts), f"{entry['longest_s']:.1f} s"))
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        commits = ", ".join(
            dict.fromkeys(commit for entry in document["families"].values() for commit in entry["commits"])
        )
        return "\n".join([*lines, "", f"Commits {commits}; {document['date']}, {document['machine']}."])

    def _read(self) -> dict[str, Any]:
        return dict(json.loads(self.file.read_bytes())["families"]) if self.file.exists() else {}


def summary(tried: Sequence[Tried], seconds: float) -> str:
    """One line: the number of each outcome, and the longest duration."""
    counts = Counter(attempt.result.outcome for attempt in tried)
    counts_text = ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
    longest = max((attempt.result.seconds for attempt in tried), default=0)
    return f"{len(tried)} in {seconds:.0f} s: {counts_text}; longest {longest:.1f} s"


def _described(result: Result) -> dict[str, str]:
    return {"outcome": result.outcome, "signature": result.signature}


def _commit() -> str:
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=_ROOT).stdout.strip()
