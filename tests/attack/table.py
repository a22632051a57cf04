"""The table of tries and outcomes, for docs/concepts/safety.md."""

from __future__ import annotations

from typing import Any

from .attempt import HELD

_HEAD = ("Attacks", "Tries", *(outcome.capitalize() for outcome in HELD), "Failures", "Longest ending")


def table(run: dict[str, Any]) -> str:
    """The outcomes of a run as Markdown."""
    rows = [_HEAD, ("---", *("---:" for _ in _HEAD[1:]))]
    for family in run["families"].values():
        outcomes = family["outcomes"]
        held = [outcomes.get(outcome, 0) for outcome in HELD]
        failures = family["tries"] - sum(held)
        cells = [family["tries"], *held, failures]
        rows.append((family["what"], *(f"{cell:,}" if cell else "0" for cell in cells), f"{family['longest_s']:.1f} s"))
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([*lines, "", f"Commit {run['commit']}, {run['date']}, {run['machine']}."])
