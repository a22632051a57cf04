"""What a study can say of checkpoints: models by name or by their sizes, saving them, restoring them.

Not here: which rank has which bytes, which the engine works out, and what is measured (`ioassay.analysis.checkpoints`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

from ioassay.studies.train import Computing
from ioassay.studies.values import Pause
from ioassay.text import format, units
from ioassay.yaml_models.model import AfterValidator, Field, Part, model_validator
from ioassay.yaml_models.source import quoted
from ioassay.yaml_models.values import Count, Identifier, Kind, Size, YesNo, between

if TYPE_CHECKING:
    from ioassay.protocol.plan import Checkpoint as CheckpointPlan
    from ioassay.protocol.plan import CheckpointOperationSave, Model, Transformer, WorkCheckpoint

MOST_RANKS_FURTHER = 1 << 20

ZeroStage = Annotated[int, between(units.parse_count, 0, 3), Kind("whole number")]
Shift = Annotated[int, between(units.parse_count, 0, MOST_RANKS_FURTHER), Kind("whole number")]
CopyRate = Annotated[
    int,
    between(units.parse_rate, 10**6, 10**13, format.rate),
    Kind("rate in bytes per second"),
]
BytesEach = Annotated[int, between(units.parse_count, 0, 1024), Kind("whole number")]

_LLAMA_3_VOCABULARY = 128_256


def _llama_3(layers: int, hidden: int, feed_forward: int, heads: int, kv_heads: int) -> Transformer:
    return {
        "layers": layers,
        "hidden": hidden,
        "feed_forward": feed_forward,
        "heads": heads,
        "kv_heads": kv_heads,
        "vocabulary": _LLAMA_3_VOCABULARY,
    }


MODELS: Mapping[str, Transformer] = {
    "llama3-8b": _llama_3(32, 4096, 14336, 32, 8),
    "llama3-70b": _llama_3(80, 8192, 28672, 128, 8),
    "llama3-405b": _llama_3(126, 16384, 53248, 128, 8),
    "llama3-1t": _llama_3(128, 25872, 98304, 192, 32),
}
"""Models by name, with the sizes that MLPerf Storage v2.0 gives them."""

_EQUIVALENT = "# neither IOR nor mdtest saves checkpoints; DLIO and MLPerf Storage do"
"""Instead of a command line of IOR or mdtest."""


def _known(name: str) -> str:
    if name not in MODELS:
        raise ValueError(
            f"{quoted(name)} is no model that is built in; use {', '.join(MODELS)}, or give its sizes (`transformer`)"
        )
    return name


class Sizes(Part):
    """The sizes of a transformer with gated feed-forward layers and an output that is not tied to the embedding."""

    layers: Count = Field(description="Layers.")
    hidden: Count = Field(description="Size of the hidden state.")
    feed_forward: Count = Field(description="Size of the feed-forward layers.")
    heads: Count = Field(description="Attention heads.")
    kv_heads: Count = Field(description="Heads of keys and of values.")
    vocabulary: Count = Field(description="Tokens of the vocabulary.")

    def plan(self) -> Transformer:
        """As the plan has it."""
        return {
            "layers": self.layers,
            "hidden": self.hidden,
            "feed_forward": self.feed_forward,
            "heads": self.heads,
            "kv_heads": self.kv_heads,
            "vocabulary": self.vocabulary,
        }


class Checkpoint(Part):
    """The state of a model in training: a file of parameters and one of the optimizer's state for each rank.

    Ranks are a multiple of `tensor` × `pipeline`; a rank that has nothing of a state has no file of it.
    """

    model: Annotated[Identifier, AfterValidator(_known)] | None = Field(
        default=None, description="A model that is built in: `llama3-8b`, `llama3-70b`, `llama3-405b` or `llama3-1t`."
    )
    transformer: Sizes | None = Field(default=None, description="Instead of `model`: the sizes of a transformer.")
    parameters: Count | None = Field(
        default=None, description="Instead of `model`: a number of parameters, which are spread evenly."
    )
    model_bytes: BytesEach = Field(default=2, description="Bytes of each parameter in the files of the model.")
    optimizer_bytes: BytesEach = Field(
        default=12,
        description="Bytes of the optimizer's state for each parameter. Default: 12, of Adam with a copy of the "
        "parameters, all in float32.",
    )
    tensor: Count = Field(default=1, description="Ranks over which each layer is split.")
    pipeline: Count = Field(default=1, description="Stages over which the layers are spread.")
    zero: ZeroStage = Field(
        default=1,
        description="Stage of ZeRO. 0: the first data-parallel instance writes all. 1 and 2: it writes the model, and "
        "each instance its share of the optimizer's state. 3: each instance writes its share of both.",
    )
    keep: Count = Field(
        default=1, description="Generations that are kept. Older ones are removed when a new one is complete."
    )

    @model_validator(mode="after")
    def _one_kind_of_model(self) -> Self:
        if sum(given is not None for given in (self.model, self.transformer, self.parameters)) != 1:
            raise ValueError(
                "needs exactly one of `model`, `transformer` and `parameters`; write for example `model: llama3-8b`"
            )
        return self

    def plan(self) -> CheckpointPlan:
        """As the plan has it."""
        return {
            "model": self._model(),
            "model_bytes": self.model_bytes,
            "optimizer_bytes": self.optimizer_bytes,
            "tensor": self.tensor,
            "pipeline": self.pipeline,
            "zero": self.zero,
            "keep": self.keep,
        }

    def _model(self) -> Model:
        if self.parameters is not None:
            return {"parameters": self.parameters}
        if self.transformer is not None:
            return {"transformer": self.transformer.plan()}
        assert self.model is not None  # one of the three is given
        return {"transformer": MODELS[self.model]}


class OnCheckpoint(Part):
    """What all steps on a checkpoint say."""

    equivalent: ClassVar[str] = _EQUIVALENT

    name: Identifier | None = Field(default=None, description="Name of the phase. Default: the step's own.")
    checkpoint: Identifier | None = Field(default=None, description="The checkpoint, if the workload has several.")
    count: Count = Field(default=1, description="Generations.")
    transfer: Size = Field(default=8 << 20, description="Bytes of each write or read. Default: `8m`.")


class SaveCheckpoint(OnCheckpoint):
    """Save generations of a checkpoint: every rank stands still until all ranks have written theirs."""

    every: Pause = Field(default=0, description="How long ranks compute before each generation, such as `60s`.")
    computing: Computing = Field(
        default="sleep", description="How that time passes: asleep, or on a processor (`spin`)."
    )
    fsync: YesNo = Field(
        default=True,
        description="Each file is forced to stable storage before it is closed; the time counts in the stall.",
    )
    rename: YesNo = Field(
        default=False, description="Each file is written under another name and renamed when it is complete."
    )

    background: CopyRate | None = Field(
        default=None,
        description="A thread of each rank writes while the rank computes on, as asynchronous checkpoints do. A rank "
        "stands still until the generation before is complete on all ranks, and while it copies its state to memory at "
        "this rate, such as `20GB/s`. Default: it stands still until all files are written.",
    )

    def plan(self, checkpoint: str) -> WorkCheckpoint:
        """As the plan has it."""
        save: CheckpointOperationSave = {
            "kind": "save",
            "count": self.count,
            "every_ns": self.every,
            "compute": self.computing,
            "fsync": self.fsync,
            "rename": self.rename,
        }
        if self.background is not None:
            save["background"] = {"copy_bytes_per_s": self.background}
        return {
            "kind": "checkpoint",
            "checkpoint": checkpoint,
            "transfer_bytes": self.transfer,
            "operation": save,
        }


class RestoreCheckpoint(OnCheckpoint):
    """Restore the last generations of a checkpoint that are there, the oldest of them first."""

    shift: Shift = Field(
        default=0, description="Each rank reads the files of the rank this much further on, as after a restart."
    )
    verify: YesNo = Field(default=False, description="Compare what was read with what was written.")

    def plan(self, checkpoint: str) -> WorkCheckpoint:
        """As the plan has it."""
        return {
            "kind": "checkpoint",
            "checkpoint": checkpoint,
            "transfer_bytes": self.transfer,
            "operation": {"kind": "restore", "count": self.count, "shift": self.shift, "verify": self.verify},
        }
