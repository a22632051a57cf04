"""Answers about training in the report of a run."""

from __future__ import annotations

import pytest

from ioassay.analysis.test_feeding import SWEPT, swept
from ioassay.analysis.test_training import MS
from ioassay.reports.run.content import assemble
from ioassay.reports.run.training import answer
from ioassay.store.loaded import LoadedRun

FED = (
    "W: storage feeds 2 accelerators (95 % busy in the worst epoch), but not 4 accelerators (75 % busy, where 90 % are "
)


@pytest.mark.parametrize(
    ("computing_ms", "loader_processor_ms", "text"),
    [
        ((240, 228, 180, 100), 60, f"{FED}needed; storage is the limit)."),
        ((240, 228, 180, 100), 460, f"{FED}needed; the clients' processors are the limit)."),
        (
            (120, 60, 60, 60),
            60,
            "W: storage does not feed 1 accelerator (50 % busy, where 90 % are needed; storage is ",
        ),
        (
            (240, 240, 240, 228),
            60,
            "W: storage feeds 8 accelerators (95 % busy in the worst epoch), the most that were ",
        ),
    ],
)
def test_the_answer_names_the_most_that_are_fed_and_the_first_that_are_not(
    computing_ms: tuple[int, ...], loader_processor_ms: int, text: str
) -> None:
    computing_ns = {count: ms * MS for count, ms in zip((1, 2, 4, 8), computing_ms, strict=True)}
    run = swept(computing_ns, loader_busy_ns=470 * MS, loader_processor_ns=loader_processor_ms * MS)
    content = assemble(run)
    (feeding,) = content.feeding
    assert answer(feeding, content.names).startswith(text)


def test_the_answer_says_how_certain_it_is() -> None:
    study = SWEPT.replace("repetitions: 2", "repetitions: 4")
    certain = {1: 240 * MS, 2: 228 * MS, 4: 180 * MS, 8: 100 * MS}
    assert _answer(swept(certain, study)).endswith("With 95 % confidence, after 4 runs with 2 and 4 runs with 4.")
    at_the_goal = certain | {2: 216 * MS}
    assert "With 95 % confidence: 1 to 3, because repetitions scatter about 90 %" in _answer(swept(at_the_goal, study))


def test_the_answer_names_the_clients_where_accelerators_of_each_are_swept() -> None:
    study = SWEPT.replace("[1]", "[1, 2]").replace("[1, 2, 4, 8]", "[1, 2]")
    content = assemble(swept({1: 240 * MS, 2: 100 * MS}, study))
    heads = [answer(feeding, content.names).split(":")[0] for feeding in content.feeding]
    assert heads == ["W, 1 client", "W, 2 clients"]


def _answer(run: LoadedRun) -> str:
    content = assemble(run)
    (feeding,) = content.feeding
    return answer(feeding, content.names)
