"""Models whose training and checkpoints are known: what an accelerator reads, what a checkpoint has.

    training      MLPerf Storage v2.0 (github.com/mlcommons/storage at caa90c9): bytes of a sample, batch, computation
                  of a batch on an A100 and an H100, the utilisation that it asks for
    checkpoints   shapes of the Llama 3 family there; sizes by DLIO's formula: 2 bytes a parameter for the model, 12 for
                  the optimizer. For 1t its table says 17,997 GiB where its own formula gives 15,424

Not: the arithmetic of requirements (`search.needs`). None of it is a result of MLPerf Storage.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ioassay.sizing.arithmetic import Origin, Value, exactly, product, quotient
from ioassay.systems.amounts import BYTES, NUMBER, SECONDS

Accelerator = Literal["a100", "h100"]

SOURCE = Origin("published", "MLPerf Storage v2.0 (github.com/mlcommons/storage at caa90c9)")


@dataclass(frozen=True)
class TrainedModel:
    """A model that is trained."""

    sample_bytes: Fraction
    """The mean."""
    batch: int
    """Samples that an accelerator takes for each step."""
    compute_s: Mapping[Accelerator, Fraction]
    """Computation of a step."""
    utilisation: Fraction
    """Utilisation that counts as fed."""


TRAINED: Mapping[str, TrainedModel] = {
    "unet3d": TrainedModel(
        Fraction(146_600_628), 7, {"a100": Fraction("0.636"), "h100": Fraction("0.323")}, Fraction("0.9")
    ),
    "resnet50": TrainedModel(
        Fraction("114660.07"), 400, {"a100": Fraction("0.435"), "h100": Fraction("0.224")}, Fraction("0.9")
    ),
    "cosmoflow": TrainedModel(
        Fraction(2_828_486), 1, {"a100": Fraction("0.00551"), "h100": Fraction("0.00350")}, Fraction("0.7")
    ),
}


@dataclass(frozen=True)
class Transformer:
    """The shape of a language model."""

    layers: int
    hidden: int
    feed_forward: int
    heads: int
    key_value_heads: int
    vocabulary: int = 128_256

    @property
    def parameters(self) -> int:
        """By DLIO's formula."""
        hidden, key_value = self.hidden, self.hidden // self.heads * self.key_value_heads
        attention = hidden * (hidden + 2 * key_value) + hidden**2
        layer = 2 * hidden + attention + 3 * self.feed_forward * hidden
        return 2 * self.vocabulary * hidden + self.layers * layer + hidden

    @property
    def checkpoint_bytes(self) -> int:
        """Model and optimizer, of all ranks together."""
        return (2 + 12) * self.parameters


CHECKPOINTED: Mapping[str, Transformer] = {
    "llama3-8b": Transformer(32, 4096, 14336, 32, 8),
    "llama3-70b": Transformer(80, 8192, 28672, 128, 8),
    "llama3-405b": Transformer(126, 16384, 53248, 128, 8),
    "llama3-1t": Transformer(128, 25872, 98304, 192, 32),
}


def read_rate(model: str, accelerator: Accelerator, utilisation: Value | None) -> Value:
    """What an accelerator must read to be as busy as asked for; without `utilisation` as MLPerf Storage asks."""
    trained = TRAINED[model]
    batch = exactly("samples of a batch", trained.batch, NUMBER, SOURCE)
    sample = exactly("sample", trained.sample_bytes, BYTES, SOURCE)
    compute = exactly(
        f"computation of a batch on an {accelerator.upper()}", trained.compute_s[accelerator], SECONDS, SOURCE
    )
    goal = utilisation or exactly("utilisation", trained.utilisation, NUMBER, SOURCE)
    full = quotient("read rate of an accelerator that never waits", product("batch", batch, sample), compute)
    return product("read rate of an accelerator", goal, full)
