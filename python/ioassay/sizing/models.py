"""Requirements by model: what an accelerator reads, what a checkpoint has.

    training      models of MLPerf Storage (`studies.mlperf_storage`): batch × bytes of a sample / computation of a
                  batch, times the share of the time in which accelerators must be busy
    checkpoints   the Llama 3 family (`studies.checkpoint`) by DLIO's formula: 2 bytes a parameter for the model, 12 for
                  the optimizer. For 1t its table says 17,997 GiB where its own formula gives 15,424

Not: the other arithmetic of requirements (`search.needs`). None of it is a result of MLPerf Storage.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from ioassay.sizing.arithmetic import Origin, Value, exactly, product, quotient
from ioassay.studies import checkpoint, mlperf_storage
from ioassay.systems.amounts import BYTES, NUMBER, SECONDS

if TYPE_CHECKING:
    from ioassay.protocol.plan import Transformer

ACCELERATORS = sorted({name.lower() for model in mlperf_storage.MODELS.values() for name in model.compute_ns})
"""Names of accelerators whose computation is known for some model."""


def accelerators_of(model: str) -> list[str]:
    """Those whose computation of a batch of this model is known, the fastest last."""
    return [name.lower() for name in mlperf_storage.MODELS[model].compute_ns]


def read_rate(model: str, accelerator: str, utilisation: Value | None) -> Value:
    """What an accelerator must read to be as busy as asked for; without `utilisation` as MLPerf Storage asks."""
    trained = mlperf_storage.MODELS[model]
    source = Origin("published", f"MLPerf Storage {trained.version} (github.com/mlcommons/storage)")
    batch = exactly("samples of a batch", trained.batch, NUMBER, source)
    sample = exactly("sample", trained.sample_bytes, BYTES, source)
    seconds = Fraction(trained.compute_ns[accelerator.upper()], 10**9)
    compute = exactly(f"computation of a batch on {accelerator.upper()}", seconds, SECONDS, source)
    goal = utilisation or exactly("utilisation", Fraction(trained.goal_percent, 100), NUMBER, source)
    full = quotient("read rate of an accelerator that never waits", product("batch", batch, sample), compute)
    return product("read rate of an accelerator", goal, full)


def parameters(transformer: Transformer) -> int:
    """By DLIO's formula."""
    hidden = transformer["hidden"]
    key_value = hidden // transformer["heads"] * transformer["kv_heads"]
    attention = hidden * (hidden + 2 * key_value) + hidden**2
    layer = 2 * hidden + attention + 3 * transformer["feed_forward"] * hidden
    return 2 * transformer["vocabulary"] * hidden + transformer["layers"] * layer + hidden


CHECKPOINT_BYTES: Mapping[str, int] = {
    name: (2 + 12) * parameters(transformer) for name, transformer in checkpoint.MODELS.items()
}
"""Model and optimizer of all ranks together, by model."""
