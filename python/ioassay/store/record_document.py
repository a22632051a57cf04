"""`record.json`: what was recorded, when, where, and what the recorder missed.

`crates/protocol/src/record.rs` has its fields. Here is checked what its JSON schema does not say: that times are times
and that the tables have an absolute path. Not: reading the tables (`profiles.records`).
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, ConfigDict, RootModel
from pydantic_core import ValidationError

from ioassay.store import json_head, protocol

if TYPE_CHECKING:
    from ioassay.protocol.record import Record

_HIGHEST_STATUS = 255
"""Exit codes end there, and signals."""


def _checked(value: Any) -> Record:
    try:
        document: Record = protocol.validator("record").validate_python(value)
    except ValidationError as error:
        raise ValueError(protocol.reason(error)) from None
    for moment in (document["started"], document.get("ended")):
        if moment is not None:
            json_head.moment(moment)
    tables = document.get("tables")
    if tables is not None and not PurePath(tables).is_absolute():
        raise ValueError("tables: an absolute path is expected")
    if abs(document.get("exit_status") or 0) > _HIGHEST_STATUS:
        raise ValueError(f"exit_status: at most {_HIGHEST_STATUS} is expected")
    return document


if TYPE_CHECKING:
    _Checked = Record
else:
    _Checked = Annotated[Any, AfterValidator(_checked)]


class RecordDocument(RootModel[_Checked]):
    """`record.json`, checked."""

    model_config = ConfigDict(defer_build=True)
