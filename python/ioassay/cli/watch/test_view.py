"""Where the view of this node has records register with its agent."""

from __future__ import annotations

import os

import pytest

from ioassay.cli.watch.view import _registrations
from ioassay.errors import CannotRun
from ioassay.protocol.facts import NODE_REGISTRATIONS, NODE_REGISTRATIONS_VARIABLE


def test_only_root_enforces_a_contract_on_a_whole_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NODE_REGISTRATIONS_VARIABLE, raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert _registrations() == NODE_REGISTRATIONS
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(CannotRun, match="Only root") as refused:
        _registrations()
    assert NODE_REGISTRATIONS_VARIABLE in refused.value.remedy


def test_a_user_enforces_a_contract_in_the_directory_where_records_register(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv(NODE_REGISTRATIONS_VARIABLE, "/home/me/registrations")
    assert _registrations() == "/home/me/registrations"
