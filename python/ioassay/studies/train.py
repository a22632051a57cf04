"""What a study can say of training: datasets of samples, their creation, and epochs of data loaders.

Not here: how several epochs become a phase each (`studies.shorthand`), what is measured of them
(`ioassay.analysis.training`).
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from ioassay.store.document import UTILISATION_GOAL
from ioassay.studies.caches import ColdCache
from ioassay.studies.directory_sizes import directory_sizes
from ioassay.studies.replay import Sizes, Weight, weighed
from ioassay.studies.values import Ordinal, Path, Pause, Seed, SizeOrNone, Utilisation
from ioassay.text import units
from ioassay.yaml_models.model import BeforeValidator, Field, Part, model_validator
from ioassay.yaml_models.values import Count, Identifier, Kind, Size, YesNo, between, text_of

if TYPE_CHECKING:
    from ioassay.protocol.plan import ComputeTimes as ComputeTimesPlan
    from ioassay.protocol.plan import Dataset as DatasetPlan
    from ioassay.protocol.plan import SampleSizes as SampleSizesPlan
    from ioassay.protocol.plan import TrainOperationEpoch, WorkTrain

MOST_THREADS = 1024
MOST_EPOCHS = 1000
MOST_SUBFOLDERS = 10_000

Threads = Annotated[int, between(units.parse_count, 0, MOST_THREADS), Kind("whole number")]
Epochs = Annotated[int, between(units.parse_count, 1, MOST_EPOCHS), Kind("whole number")]
Shuffle = Annotated[Literal["none", "files", "samples"], BeforeValidator(text_of)]
Container = Annotated[Literal["raw", "tfrecord", "npz", "parquet"], BeforeValidator(text_of)]
Subfolders = Annotated[int, between(units.parse_count, 0, MOST_SUBFOLDERS), Kind("whole number")]
ComputeTimes = Annotated[
    dict[Pause, Weight],
    BeforeValidator(weighed),
    Kind("duration, or weights by duration, as `{90ms: 3}`"),
]
Computing = Annotated[Literal["sleep", "spin"], BeforeValidator(text_of)]

_EQUIVALENT = "# neither IOR nor mdtest trains; DLIO and MLPerf Storage do"
"""Instead of a command line of IOR or mdtest."""


class Dataset(Part):
    """Samples in files, for training. The size of each sample follows from the seed and its number, whatever the number
    of ranks. The files hold random bytes: nothing is decoded.
    """

    samples: Count = Field(description="Samples in all.")
    size: Size | None = Field(default=None, description="Bytes of each sample; with `deviation` their mean.")
    deviation: SizeOrNone = Field(
        default=0,
        description="Standard deviation of the sizes, which are then normally distributed. Default: 0, all alike.",
    )
    least: Size | None = Field(
        default=None,
        description="With `deviation`: no sample is smaller; those that would be have this size. Default: a hundredth "
        "of `size`.",
    )
    sizes: Sizes = Field(
        default={}, description="Instead of `size`: sizes of samples, and how many have each, as weights."
    )
    like: Path | None = Field(
        default=None,
        description="Instead of `size`: a directory whose files have the sizes that samples are to have. It is "
        "counted where `ioassay` runs.",
    )
    samples_per_file: Count = Field(default=1, description="Samples of each file, end to end; a divisor of `samples`.")
    container: Container = Field(
        default="raw",
        description="Format of the files. `raw`: samples and nothing else. `tfrecord`: lengths and checksums around "
        "each sample, and an index beside each file, as DALI reads it. `npz`: one array for each file, not compressed, "
        "read whole. `parquet`: a row group for each sample, not compressed; whenever a file is opened, its footer is "
        "read.",
    )
    subfolders: Subfolders = Field(
        default=0,
        description="Directories in which the files lie, file n in number n modulo that. Default: one for all.",
    )
    seed: Seed = Field(default=1, description="Chooses the sizes of the samples, and their bytes.")
    keep: Identifier | None = Field(
        default=None,
        description="Leave the dataset on the target under this name, in `ioassay-dataset-NAME`, for later cases and "
        "runs: they create only files that are missing. `ioassay clean RUN --dataset NAME` removes it. Default: "
        "removed with the run's files.",
    )
    share: YesNo = Field(
        default=False,
        description="Create the dataset once for all cases of a run, and remove it when the run ends. Default: each "
        "case creates its own.",
    )

    @model_validator(mode="after")
    def _one_kind_of_size(self) -> Self:
        if [self.size is not None, bool(self.sizes), self.like is not None].count(True) != 1:
            raise ValueError("needs exactly one of `size`, `sizes` and `like`; write for example `size: 112k`")
        if self.like is not None:
            directory_sizes(self.like)  # an error names the line of the study
        if self.share and self.keep is not None:
            raise ValueError("has both `keep` and `share`; a dataset that is kept serves all cases: leave out `share`")
        if self.sizes and not any(self.sizes.values()):
            raise ValueError("has sizes without a weight; write for example `{64k: 300, 1m: 20}`")
        return self

    def plan(self) -> DatasetPlan:
        """As the plan has it."""
        made: DatasetPlan = {
            "samples": self.samples,
            "sizes": self._sizes(),
            "samples_per_file": self.samples_per_file,
            "seed": self.seed,
        }
        if self.container != "raw":
            made["container"] = self.container
        if self.subfolders:
            made["subfolders"] = self.subfolders
        if self.keep is not None:
            made["keep"] = self.keep
        return made

    def _sizes(self) -> SampleSizesPlan:
        if self.size is None:
            sizes = self.sizes if self.like is None else directory_sizes(self.like)
            return {"histogram": [{"bytes": size, "weight": weight} for size, weight in sizes.items()]}
        if not self.deviation:
            return {"fixed": self.size}
        least = self.least if self.least is not None else max(1, self.size // 100)
        return {
            "normal": {
                "mean_bytes": self.size,
                "standard_deviation_bytes": self.deviation,
                "least_bytes": least,
            }
        }


def kept_for_run(run: str, name: str, dataset: DatasetPlan) -> DatasetPlan:
    """The same, kept for all cases of `run` that describe a dataset of this name so."""
    description = json.dumps([name, dataset], sort_keys=True).encode()
    return {**dataset, "keep": f"{run}-{zlib.crc32(description):08x}"}


class OnDataset(Part):
    """What all steps on a dataset say."""

    equivalent: ClassVar[str] = _EQUIVALENT

    name: Identifier | None = Field(default=None, description="Name of the phase. Default: the step's own.")
    dataset: Identifier | None = Field(default=None, description="The dataset, if the workload has several.")


class CreateDataset(OnDataset):
    """Write the files of a dataset: all ranks in parallel, each its own files, through the page cache even where the
    study's storage is direct.
    """

    fsync: YesNo = Field(
        default=True,
        description="Each file is forced to stable storage before it is closed; the time counts in the phase.",
    )

    def plan(self, dataset: str) -> WorkTrain:
        """As the plan has it."""
        return {"kind": "train", "dataset": dataset, "operation": {"kind": "create", "fsync": self.fsync}}


class Evaluate(Part):
    """Evaluation between epochs of training: a phase of its own, `evaluation-N` after epoch N. What it does not say is
    as in training; ranks do not wait for one another.
    """

    every: Epochs = Field(default=1, description="After every so many epochs.")
    dataset: Identifier | None = Field(default=None, description="The dataset. Default: that of training.")
    samples: Count | None = Field(default=None, description="Only so many samples, the first of the order.")
    batch: Count | None = Field(default=None, description="Samples of a batch.")
    compute: ComputeTimes | None = Field(default=None, description="How long an accelerator computes for each batch.")


class Train(OnDataset):
    """Train: each rank is an accelerator that takes a batch from its data loader, computes, and takes the next one,
    while the loader's threads read ahead. Each epoch is a phase of its own: `NAME-1`, `NAME-2` and so on.
    """

    epochs: Epochs = Field(default=1, description="How often all samples are read, each time in another order.")
    epoch: Ordinal = Field(default=0, description="Number of this epoch, from 0, where it is the only one of its step.")
    cold_cache: ColdCache | None = Field(
        default=None,
        alias="cold-cache",
        description="Ways to empty caches before each epoch, such as `[drop-caches, fadvise]`, or the keys of [cold "
        "caches](#cold-caches). Default: caches stay as they are.",
    )
    batch: Count = Field(description="Samples of a batch: an accelerator takes one for each step.")
    compute: ComputeTimes = Field(
        description="How long an accelerator computes for each batch, such as `323ms`; `0s`: not at all. With weights "
        "each step takes one of several times, chosen by the seed, the rank and the step."
    )
    compute_deviation: Pause = Field(
        default=0,
        description="Standard deviation of that time, which is then normally distributed. Default: 0, all alike.",
    )
    computing: Computing = Field(
        default="sleep",
        description="How that time passes: asleep, as of a process that waits for an accelerator, or on a processor "
        "(`spin`).",
    )
    loader_threads: Threads = Field(
        default=4,
        description="Threads of each rank that load batches, each a whole one (PyTorch's `num_workers`). 0: the rank "
        "loads itself, and nothing is loaded while it computes.",
    )
    prefetch: Count = Field(
        default=2, description="Batches that each of these threads may be ahead (PyTorch's `prefetch_factor`)."
    )
    shuffle: Shuffle = Field(
        default="samples",
        description="Order of the samples. `samples`: at random. `files`: files at random, the samples of each in "
        "order. `none`: as they lie, the same in each epoch.",
    )
    drop_last: YesNo = Field(
        default=True,
        description="Leave out samples that do not fill a batch of every rank. Otherwise the last batch is smaller.",
    )
    sync: YesNo = Field(
        default=False,
        description="All ranks wait for one another after each step, as the exchange of gradients makes them do.",
    )
    verify: YesNo = Field(default=False, description="Compare each sample that was read with what was written.")
    utilisation: Utilisation = Field(
        default=UTILISATION_GOAL,
        description="Storage feeds accelerators if each epoch keeps them at least this busy, the wait for the first "
        "batch included. Default: 90 %, as MLPerf Storage wants it of unet3d and resnet50; 70 % of cosmoflow.",
    )
    read: Size | None = Field(
        default=None, description="Read only so many bytes of each sample, from its beginning. Default: all of it."
    )
    samples: Count | None = Field(
        default=None, description="Read only so many samples, the first of the order. Default: all of them."
    )
    hold: YesNo = Field(
        default=False,
        description="Keep each batch in memory until its computation ends, as frameworks do: up to `loader_threads` × "
        "`prefetch` + 1 batches of each rank, which are checked against the memory of the node. Otherwise the next "
        "sample overwrites it.",
    )
    evaluate: Evaluate | None = Field(default=None, description="Evaluate between epochs. Default: no.")
    evaluation: YesNo = Field(
        default=False, description="This is an evaluation, which says nothing of how busy training keeps accelerators."
    )

    @model_validator(mode="after")
    def _one_kind_of_time(self) -> Self:
        if not any(self.compute.values()):
            raise ValueError("has computing times without a weight; write for example `compute: {90ms: 3, 120ms: 1}`")
        if self.compute_deviation and len(self.compute) > 1:
            raise ValueError("has several computing times and their deviation; leave out `compute_deviation`")
        return self

    def plan(self, dataset: str) -> WorkTrain:
        """As the plan has it."""
        epoch: TrainOperationEpoch = {
            "kind": "epoch",
            "number": self.epoch,
            "batch": self.batch,
            "loader_threads": self.loader_threads,
            "prefetch": self.prefetch,
            "shuffle": self.shuffle,
            "drop_last": self.drop_last,
            "compute_ns": self._mean_compute_ns(),
            "compute": self.computing,
        }
        if self.sync:
            epoch["sync_steps"] = True
        if self.verify:
            epoch["verify"] = True
        if (times := self._compute_times()) is not None:
            epoch["compute_times"] = times
        if self.read is not None:
            epoch["read_bytes"] = self.read
        if self.samples is not None:
            epoch["samples"] = self.samples
        if self.hold:
            epoch["hold_batches"] = True
        if self.evaluation:
            epoch["evaluation"] = True
        return {"kind": "train", "dataset": dataset, "operation": epoch}

    def _mean_compute_ns(self) -> int:
        return sum(time * weight for time, weight in self.compute.items()) // sum(self.compute.values())

    def _compute_times(self) -> ComputeTimesPlan | None:
        if self.compute_deviation:
            return {"normal": {"standard_deviation_ns": self.compute_deviation}}
        if len(self.compute) == 1:
            return None
        return {"histogram": [{"ns": time, "weight": weight} for time, weight in self.compute.items()]}
