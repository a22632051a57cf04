from __future__ import annotations

from ioassay.analysis.series import Series, without_preparation

_CREATE_TREE = Series("create-tree", "create-tree", "create-tree")
_REMOVE_TREE = Series("tidy", "tidy", "remove-tree")
_CREATE = Series("create", "create", "create")


def test_the_directories_of_measured_files_are_preparation() -> None:
    assert without_preparation([_CREATE_TREE, _CREATE, _REMOVE_TREE]) == [_CREATE]


def test_a_workload_of_only_directories_measures_them() -> None:
    assert without_preparation([_CREATE_TREE, _REMOVE_TREE]) == [_CREATE_TREE, _REMOVE_TREE]
