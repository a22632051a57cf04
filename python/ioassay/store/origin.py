"""Where the results of a run come from: a study of ours, a command line of another tool, or results of another tool.

One of them, told apart by `kind`; what only one of them has is a field of its model. Not: what was measured, and how
(`document`), which all of them have.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ioassay.store.stored_types import Amount, Count, Moment, StoredModel


class LabEntry(StoredModel):
    """The lab that a run took place in."""

    about: str | None = Field(description="What the target was made of; `None` if it was none of the lab.")
    hosts: list[str] = Field(description="The hosts that clients could be on.")
    link_bits_per_s: Count | None = Field(
        description="Rate of each host's link in each direction; `None`: not limited."
    )
    started: Moment = Field(description="When the lab was started: ISO 8601, UTC.")
    yaml: str = Field(description="The lab's YAML, as read; options of its command line may have changed it.")


class StudyOrigin(StoredModel):
    """`ioassay run` ran a study."""

    kind: Literal["study"] = "study"
    storage: str | None = Field(
        default=None, description="The storage system of a lab that the target is: `lab:NAME/STORAGE`."
    )
    clients: str | None = Field(
        default=None, description="Whose hosts were the clients: `lab:NAME`; `None`: processes on one node."
    )
    lab: LabEntry | None = Field(default=None, description="The lab of the target or the clients.")


class FrontEndOrigin(StoredModel):
    """A front end of the engine ran a command line of another tool."""

    kind: Literal["front-end"] = "front-end"
    tool: str = Field(description="The tool whose command line it was.")


class ImportedFile(StoredModel):
    """A file that was imported."""

    path: str = Field(description="As it was named.")
    sha256: str
    bytes: Count


class RefusedFile(StoredModel):
    """A file that was not imported."""

    path: str = Field(description="As it was named.")
    line: Count | None = Field(description="The line that broke, from 1, where it is one.")
    reason: str


class PrintedScore(StoredModel):
    """A number that a benchmark printed and that follows from its phases."""

    list: Literal["standard", "extended"] = Field(description="The list of phases that it is of.")
    name: Literal["bandwidth", "metadata", "total"]
    value: float
    half_unit: Amount = Field(description="Half the unit of the last digit that was printed.")
    unit: str = Field(description="As printed.")
    file: str
    line: Count


class ImportOrigin(StoredModel):
    """`ioassay import` read results of another tool."""

    kind: Literal["import"] = "import"
    tool: str = Field(description="As it is typed after `ioassay import`.")
    versions: list[str] = Field(description="Of the tool, as far as the files tell.")
    files: list[ImportedFile]
    refused: list[RefusedFile]
    printed: list[PrintedScore] = Field(default_factory=list)


Origin = Annotated[StudyOrigin | FrontEndOrigin | ImportOrigin, Field(discriminator="kind")]
