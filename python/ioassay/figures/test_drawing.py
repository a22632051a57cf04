"""The process that draws, attacked: it dies, it hangs, its memory is limited, and the figures around it are drawn."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ioassay.figures.drawing import CannotDraw, Drawing

_CHART = {"data": {"values": [{"x": 1}]}, "mark": "point", "encoding": {"x": {"field": "x", "type": "quantitative"}}}
_ENDLESS = {
    "data": {"sequence": {"start": 0, "stop": 100_000, "as": "x"}},
    "transform": [{"density": "x", "steps": 100_000}],
    "mark": "line",
    "encoding": {"x": {"field": "value", "type": "quantitative"}, "y": {"field": "density", "type": "quantitative"}},
}


def _children() -> set[int]:
    return set(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()))


def test_one_process_draws_everything_and_ends_with_its_owner() -> None:
    before = _children()
    drawing = Drawing()
    assert drawing.svg(_CHART) == drawing.svg(_CHART)
    assert len(_children() - before) == 1
    drawing.stop()
    assert _children() == before
    assert drawing.undrawn == []


def test_a_figure_that_cannot_be_drawn_costs_no_other_figure() -> None:
    before = _children()
    drawing = Drawing(limit_s=1)
    drawing.svg(_CHART)
    with pytest.raises(CannotDraw) as refused:
        drawing.svg({"mark": "nonsense"})
    assert "\n" not in str(refused.value)
    drawing.svg(_CHART)
    (process,) = _children() - before
    os.kill(process, signal.SIGKILL)
    with pytest.raises(CannotDraw, match=r"^the process that draws figures was killed by SIGKILL$"):
        drawing.svg(_CHART)
    with pytest.raises(CannotDraw, match=r"^drawing took longer than 1 s$"):
        drawing.svg(_ENDLESS)
    assert drawing.png(drawing.svg(_CHART), scale=1, ppi=72).startswith(b"\x89PNG")
    assert len(drawing.undrawn) == 3
    drawing.stop()
    assert _children() == before


def test_a_process_that_never_starts_is_tried_once() -> None:
    program = (
        "import resource\n"
        "from ioassay.figures.drawing import CannotDraw, Drawing\n"
        "resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))\n"
        "drawing = Drawing()\n"
        "for _ in range(5):\n"
        "    try:\n"
        "        drawing.svg({})\n"
        "    except CannotDraw:\n"
        "        pass\n"
        "print(drawing._deaths, len(drawing.undrawn), drawing.undrawn[-1])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("1 5 the process that draws figures was killed by SIG")
    assert "limited to 8.00 GiB (ulimit -v)" in done.stdout
    assert done.stderr == ""
