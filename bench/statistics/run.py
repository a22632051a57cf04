"""Run all simulations and keep what they print: the tables that the documentation has.

python bench/statistics/run.py DIR

Each program's tables go to DIR/PROGRAM.md, and DIR/README.md says how they were made.
Not: a test. `tests/test_documented_numbers.py` holds the documentation to the runs that are kept.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
TIMES = {
    "intervals": 20_000,
    "sustained": 700,
    "many_ratios": 2000,
    "outliers": 100_000,
    "scalability": 500,
    "drift": 2000,
    "slow_nodes": 2000,
    "peak": 900,
    "check": 1000,
    "trend": 400,
    "stop_rule": 20_000,
    "saturation": 300,
    "sweep": 60,
    "reliability": 100_000,
}
"""How often each program draws."""


def main() -> None:
    """Run the programs one after the other; what one writes to standard error is shown, and its failure ends all."""
    out = Path(sys.argv[1])
    out.mkdir(parents=True)
    lines = []
    for name, times in TIMES.items():
        print(f"{name}: {times} draws", flush=True)
        command = [sys.executable, str(HERE / f"{name}.py"), str(times)]
        tables = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        (out / f"{name}.md").write_text(tables, encoding="utf-8")
        lines.append(f"| [{name}]({name}.md) | {times} |")
    versions = ", ".join(f"{package} {version(package)}" for package in ("ioassay", "numpy", "scipy", "polars"))
    (out / "README.md").write_text(
        "# The tables of the documentation\n\n"
        f"`python bench/statistics/run.py DIR` with Python {platform.python_version()}, {versions};\n"
        "every program has fixed seeds, so the same versions print the same numbers.\n\n"
        "| program | draws |\n| --- | --- |\n" + "\n".join(lines) + "\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
