"""Whether the cluster acknowledges commits and changes of attributes early."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.rule import Judgement, Rule
from ioassay.tuning.rules.onefs.cluster import RANDOM_IO, is_onefs, judge_setting
from ioassay.tuning.system import System

_SETTINGS = ("commit-async", "setattr-async")
_READ = "isi nfs settings export view"
_WRITE = "isi nfs settings export modify --setattr-async=1 --commit-async=1"


def _judge(system: System) -> Iterator[Judgement]:
    for setting in _SETTINGS if is_onefs(system) else _SETTINGS[:1]:
        yield from judge_setting(system, setting, "1", _READ, _WRITE)


RULE = Rule(
    name="onefs-async-commit",
    title="Know what asynchronous commits of OneFS trade for speed",
    area="OneFS",
    reason="With commit-async and setattr-async the cluster answers COMMIT and SETATTR before data and attributes are "
    "on disk, so that small writes and creates do not wait.",
    risk="Acknowledged data is lost when a node fails, although clients have synced it and dropped their copies. Use "
    "it for scratch data only, and name it beside every rate that was measured with it. It changes the defaults of "
    "all exports.",
    sources=(RANDOM_IO,),
    judge=_judge,
    parameters=_SETTINGS,
)
