"""What a study can say of inference with a key-value cache on storage.

Not here: the file set that holds the objects (`studies.files`), what is measured (`ioassay.analysis.kv_cache`).
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple, Self

from ioassay.studies.values import Pause, SizeOrNone, Waiting
from ioassay.text import units
from ioassay.yaml_models.model import Field, Part, model_validator
from ioassay.yaml_models.source import quoted
from ioassay.yaml_models.values import Count, Identifier, Kind, YesNo, between, parsed

if TYPE_CHECKING:
    from ioassay.protocol.plan import Limit, WorkKvCache
    from ioassay.protocol.plan import Span as SpanPlan

MOST_USERS = 1024


class Range(NamedTuple):
    """A whole number between two, both included."""

    least: int
    most: int

    def __str__(self) -> str:
        """As studies spell it."""
        return str(self.least) if self.least == self.most else f"{self.least} to {self.most}"

    def plan(self) -> SpanPlan:
        """As the plan has it."""
        return {"least": self.least, "most": self.most}


def _range(text: str) -> Range:
    least, to, most = text.partition(" to ")
    ends = Range(units.parse_count(least.strip()), units.parse_count(most.strip() if to else least.strip()))
    if ends.least > ends.most:
        raise ValueError(f"{quoted(text)} ends before it begins; write `{ends.most} to {ends.least}`")
    return ends


def _exponent(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,2}(\.[0-9]{1,9})?", text) or not math.isfinite(float(text)) or float(text) > 10:
        raise ValueError(f"{quoted(text)} is not the exponent of a Zipf distribution; write 0 to 10, for example 0.9")
    return float(text)


Users = Annotated[int, between(units.parse_count, 1, MOST_USERS), Kind("whole number")]
Numbers = Annotated[Range, parsed(_range), Kind("whole number, or `NUMBER to NUMBER`")]
Exponent = Annotated[float, parsed(_exponent), Kind("number")]


class KvCache(Part):
    """Answer requests of a language model with a key-value cache. Each rank is an inference server with an accelerator,
    users, and a cache of its own: its files of the file set, each of which holds the keys and values of `object_tokens`
    consecutive tokens. No model runs: the accelerator's time passes asleep.

    A request has all tokens of its conversation so far. The server reads their objects up to the first one that it
    does not have, computes the tokens behind it (prefill), answers (decode), and meanwhile stores what it has
    computed. A full cache removes the object that was used least recently.
    """

    equivalent: ClassVar[str] = "# neither IOR nor mdtest has requests; MLPerf Storage's kv-cache does"
    """Instead of a command line of IOR or mdtest."""

    name: Identifier | None = Field(default=None, description="Name of the phase. Default: `kv-cache`.")
    files: Identifier | None = Field(
        default=None, description="The file set that holds the objects, if the workload has several."
    )
    time: Waiting | None = Field(default=None, description="How long the servers answer.")
    requests: Count | None = Field(default=None, description="Requests that each server answers at most.")
    users: Users = Field(description="Users of each server. Each asks again when the answer before has come.")
    object_tokens: Count = Field(
        default=256,
        description="Tokens of each object. Its file has as many times the bytes of a token: 2 × layers × heads of "
        "keys and values × size of a head × bytes of a number, for Llama 3 8B in 16 bits 128 KiB.",
    )
    contexts: Count = Field(
        default=100, description="What conversations begin with, such as documents: so many for each server."
    )
    context_tokens: Numbers = Field(default=Range(2048, 8192), description="Tokens of each of them.")
    popularity: Exponent = Field(
        default=1.0,
        description="How conversations choose their context: exponent of a Zipf distribution. `0`: each as often.",
    )
    turns: Numbers = Field(default=Range(1, 8), description="Requests of each conversation.")
    prompt_tokens: Numbers = Field(default=Range(64, 1024), description="Tokens that a user adds with each request.")
    answer_tokens: Numbers = Field(default=Range(64, 512), description="Tokens of each answer.")
    prefill: Count = Field(
        default=10000,
        description="Tokens per second that the accelerator of a server computes before an answer, of one request "
        "after another.",
    )
    decode: Count = Field(default=50, description="Tokens per second of each answer.")
    think: Pause = Field(default=0, description="How long a user thinks between an answer and the next request.")
    memory: SizeOrNone = Field(
        default=0,
        description="Memory of each server for objects that were used last, which are then not read from storage. It "
        "is only counted, not used.",
    )
    first_token: Waiting | None = Field(
        default=None,
        description="Deadline of the first token, counted from the request: results have the share that meets it.",
    )
    each_token: Waiting | None = Field(
        default=None, description="Deadline of a token of an answer, in the mean of the answer."
    )
    verify: YesNo = Field(default=False, description="Compare each object that was read with what was written.")

    @model_validator(mode="after")
    def _has_an_end(self) -> Self:
        if self.time is None and self.requests is None:
            raise ValueError("has no end; write for example `time: 60s`")
        return self

    def plan(self, files: str, object_bytes: int) -> WorkKvCache:
        """As the plan has it; the objects are `files` of `object_bytes` each."""
        made: WorkKvCache = {
            "kind": "kv-cache",
            "files": files,
            "object_tokens": self.object_tokens,
            "users": self.users,
            "contexts": {
                "count": self.contexts,
                "tokens": self.context_tokens.plan(),
                "exponent": self.popularity,
            },
            "turns": self.turns.plan(),
            "prompt_tokens": self.prompt_tokens.plan(),
            "answer_tokens": self.answer_tokens.plan(),
            "prefill_tokens_per_s": self.prefill,
            "decode_tokens_per_s": self.decode,
            "think_ns": self.think,
        }
        if objects := self.memory // object_bytes:
            made["memory_objects"] = objects
        if self.first_token is not None:
            made["first_token_deadline_ns"] = self.first_token
        if self.each_token is not None:
            made["token_deadline_ns"] = self.each_token
        if self.verify:
            made["verify"] = True
        return made

    def limit(self) -> Limit:
        """As the plan has it."""
        made: Limit = {}
        if self.time is not None:
            made["stonewall_ns"] = self.time
        if self.requests is not None:
            made["operations_per_rank"] = self.requests
        return made
