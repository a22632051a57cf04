"""The kinds of work: a line for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ioassay.plans.kind import Kind
from ioassay.plans.kinds import checkpoint, data, find, kv_cache, metadata, replay, train

if TYPE_CHECKING:
    from ioassay.protocol.plan import Work

_KINDS: Mapping[str, Kind[Any]] = {
    "data": data.Data(),
    "metadata": metadata.Metadata(),
    "find": find.Find(),
    "replay": replay.Replayed(),
    "train": train.Train(),
    "kv-cache": kv_cache.KvCache(),
    "checkpoint": checkpoint.Checkpoints(),
}


def kind_of(work: Work) -> Kind[Any]:
    """What is known of the kind of `work`."""
    return _KINDS[work["kind"]]
