from __future__ import annotations

import time

import pytest

from ioassay.execution.node_probe import Patience


def test_a_node_is_silent_after_most_others_answered_or_after_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    patience = Patience(10, nodes=4)
    now = 1.0
    patience.answered()  # the launcher's own host, where no ssh is needed
    now = 9.0
    assert not patience.is_over()
    patience = Patience(10, nodes=4)
    for _ in range(3):
        now += 0.1
        patience.answered()
    assert not patience.is_over()
    now = 12.0
    assert patience.is_over()
    assert not Patience(10).is_over()
