from __future__ import annotations

from typing import Any

import pytest

from ioassay.lab.model import Lab
from ioassay.yaml_models.model import InvalidDocument


def lab(**storage: dict[str, str]) -> Lab:
    """A lab with these storage systems."""
    values: dict[str, Any] = {"name": "tried", "title": "Tried", "storage": storage}
    return Lab.model_validate(values)


def test_s3_uses_its_own_disk_by_default() -> None:
    s3 = lab(s3={}).storage.s3
    assert s3 is not None
    assert s3.over == "disk"


def test_s3_over_gluster_starts_after_gluster() -> None:
    assert list(lab(s3={"over": "gluster"}, gluster={}).storage.wanted) == ["gluster", "s3"]


def test_s3_over_gluster_without_gluster_is_refused() -> None:
    with pytest.raises(InvalidDocument, match="has `s3` over gluster but no gluster"):
        lab(s3={"over": "gluster"})


def test_s3_over_something_else_is_refused() -> None:
    with pytest.raises(InvalidDocument, match="'disk' or 'gluster'"):
        lab(s3={"over": "tape"})


def test_hdfs_without_data_nodes_is_refused() -> None:
    with pytest.raises(InvalidDocument, match="out of range"):
        lab(hdfs={"datanodes": "0"})
