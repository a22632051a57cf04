"""One limit of a job on four nodes, each with its own agent: the total of written bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ioassay.lab.library import LABS, read

from .support import skip_without

pytestmark = pytest.mark.machine

BENCH = Path(__file__).parents[1] / "bench/watch/nodes.py"
MOST = 1.05
"""The agents count bytes: however busy this machine is, more than the limit and 5 % is too much."""
LEAST = 0.8
"""A busy machine may keep processes from writing what they may; nodes that each kept a fourth would stay far below."""


@pytest.fixture(scope="module")
def cases() -> dict[str, Any]:
    """What was counted in each case."""
    skip_without(read(LABS.find("xfs")))
    run = [sys.executable, str(BENCH), "4MiB/s", "10"]
    result = subprocess.run(run, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ})
    document: dict[str, Any] = json.loads(result.stdout)
    return dict(document["cases"])


@pytest.mark.parametrize(
    "case",
    [
        "equal demand",
        "one writes, three are idle",
        "two write, one writes a tenth, one is idle",
        "from when one leaves",
        "from when one joins",
        "equal demand again",
    ],
)
def test_four_nodes_share_the_limit_of_a_job(cases: dict[str, Any], case: str) -> None:
    assert LEAST <= cases[case]["share_of_limit"] <= MOST


def test_a_limit_is_assigned_to_the_nodes_that_need_it(cases: dict[str, Any]) -> None:
    equal = cases["equal demand"]["share_of_each_node"]
    assert max(equal) < 0.4
    alone = cases["one writes, three are idle"]["share_of_each_node"]
    assert alone[0] > LEAST - 0.1
    assert sum(alone[1:]) < 0.05
    greedy, other, modest, idle = cases["two write, one writes a tenth, one is idle"]["share_of_each_node"][:4]
    assert min(greedy, other) > modest > idle
