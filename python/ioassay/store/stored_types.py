"""Types of what stored documents hold, with the bounds that keep a damaged or made-up one from doing harm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import ValidationError

from ioassay.store import json_head, protocol
from ioassay.store.stored_struct import LARGEST, MOST_CHARACTERS


def _node(value: dict[str, Any]) -> dict[str, Any]:
    try:
        node: dict[str, Any] = protocol.validator("event", "Environment").validate_python(value)
    except ValidationError as error:
        raise ValueError(protocol.reason(error)) from None
    return node


Count = Annotated[int, Field(ge=0, le=LARGEST)]
"""How many, or an amount."""

Amount = Annotated[float, Field(ge=0)]
"""A rate, a duration or a share."""

Moment = Annotated[str, AfterValidator(json_head.moment)]
"""ISO 8601 with a time zone."""

Component = Annotated[str, AfterValidator(json_head.component)]
"""A name that becomes a file or a directory: never a path that leads elsewhere."""

if TYPE_CHECKING:
    from ioassay.protocol.event import Environment

    Node = Environment
else:
    Node = Annotated[dict[str, Any], AfterValidator(_node)]
    """A node as the engine describes it."""


class StoredModel(BaseModel):
    """A document in a stored directory, or a part of one."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, str_max_length=MOST_CHARACTERS, defer_build=True)
