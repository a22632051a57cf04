"""Signals that would end the process are counted; handled and ignored ones are left alone."""

from __future__ import annotations

import os
import signal
from types import FrameType

import pytest

from ioassay.execution.interruption import Interruption, signal_name

WARNINGS = [signal.SIGTERM, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU, signal.SIGRTMIN + 1]
"""Signals of terminals and batch systems before they kill."""


@pytest.mark.parametrize("number", WARNINGS)
def test_a_warning_is_counted_and_named(number: int) -> None:
    with Interruption() as interruption:
        os.kill(os.getpid(), number)
        os.kill(os.getpid(), number)
        assert (interruption.count, interruption.first) == (2, number)
        assert interruption.name == signal_name(number)
    assert signal.getsignal(number) is signal.SIG_DFL


@pytest.mark.parametrize(
    "number", [signal.SIGCHLD, signal.SIGCONT, signal.SIGWINCH, signal.SIGTSTP, signal.SIGSEGV, signal.SIGFPE]
)
def test_harmless_signals_and_faults_are_left_alone(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with Interruption():
        assert signal.getsignal(number) is before


def test_ignored_and_handled_signals_are_left_alone() -> None:
    def handler(number: int, frame: FrameType | None) -> None:
        pass

    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN), signal.signal(signal.SIGALRM, handler)
    try:
        with Interruption() as interruption:
            os.kill(os.getpid(), signal.SIGUSR1)
            os.kill(os.getpid(), signal.SIGALRM)
            assert interruption.count == 0
    finally:
        signal.signal(signal.SIGUSR1, before[0])
        signal.signal(signal.SIGALRM, before[1])


def test_names_are_those_of_the_engine() -> None:
    assert signal_name(signal.SIGUSR1) == "SIGUSR1"
    assert [signal_name(signal.SIGRTMIN + offset) for offset in (0, 3)] == ["SIGRTMIN+0", "SIGRTMIN+3"]


def test_a_nested_interruption_notifies_the_outer_one() -> None:
    with Interruption() as outer:
        with Interruption() as inner:
            os.kill(os.getpid(), signal.SIGTERM)
            assert (inner.count, inner.name) == (1, "SIGTERM")
        assert (outer.count, outer.name) == (1, "SIGTERM")
        os.kill(os.getpid(), signal.SIGQUIT)
        assert (outer.count, inner.count) == (2, 1)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
