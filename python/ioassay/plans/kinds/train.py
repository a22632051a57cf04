"""Training: datasets and epochs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioassay.plans.kind import Description, Kind, called, which, with_additions
from ioassay.text.units import format_bytes, format_count, format_duration

if TYPE_CHECKING:
    from ioassay.plans.sizes import Contents
    from ioassay.protocol.plan import Container, Dataset, SampleSizes, TrainOperationEpoch, WorkTrain


_CONTAINERS: dict[Container, str] = {
    "raw": "",
    "tfrecord": " (TFRecord, with an index)",
    "npz": " (npz)",
    "parquet": " (Parquet)",
}
"""By container, its addition to the words of a dataset."""


class Train(Kind["WorkTrain"]):
    """Creates a dataset, or trains with it."""

    def words(self, plan: Contents, work: WorkTrain, name: str | None) -> str:
        """What is created, or how an accelerator and its loader work."""
        operation = work["operation"]
        if operation["kind"] == "create":
            synced = with_additions(["each file synced before it is closed" if operation["fsync"] else ""])
            return f"create the dataset{which(plan, work['dataset'])}{called(name, 'create-dataset')}{synced}"
        does = "evaluate" if operation.get("evaluation") else "train"
        return f"{does}{which(plan, work['dataset'])}{called(name, 'train')}{with_additions(_epoch(operation))}"

    def description(self, plan: Contents, work: WorkTrain) -> Description:
        """Its dataset and the order of its samples."""
        operation = work["operation"]
        if operation["kind"] == "create":
            order, fsync = "sequential", "at-close" if operation["fsync"] else "never"
        else:
            order, fsync = ("sequential" if operation["shuffle"] == "none" else "random"), None
        sizes = plan["datasets"][work["dataset"]]["sizes"]
        return {
            "file_set": work["dataset"],
            "layout": "",
            "order": order,
            "transfer_bytes": sizes.get("fixed") if operation["kind"] == "epoch" else None,
            "payload": "unique",
            "fsync": fsync,
        }

    def datasets(self, work: WorkTrain) -> list[str]:
        """The one that it works on."""
        return [work["dataset"]]


def dataset(of: Dataset) -> str:
    """What samples it has, and how they lie in files."""
    per_file = of["samples_per_file"]
    each = "each in a file" if per_file == 1 else f"{format_count(per_file, 'sample')} in each file"
    container = _CONTAINERS[of.get("container", "raw")]
    folders = f", in {format_count(count, 'subfolder')}" if (count := of.get("subfolders", 0)) else ""
    kept = f", kept as {name}" if (name := of.get("keep")) else ""
    return f"{format_count(of['samples'], 'sample')} of {_sizes(of['sizes'])}, {each}{container}{folders}{kept}"


def _sizes(sizes: SampleSizes) -> str:
    if "fixed" in sizes:
        return format_bytes(sizes["fixed"])
    if "normal" in sizes:
        normal = sizes["normal"]
        mean, deviation = normal["mean_bytes"], normal["standard_deviation_bytes"]
        return f"{format_bytes(mean)} in the mean (standard deviation {format_bytes(deviation)})"
    each = [size["bytes"] for size in sizes["histogram"]]
    return f"{format_bytes(min(each))} to {format_bytes(max(each))} by weights"


def _epoch(epoch: TrainOperationEpoch) -> list[str]:
    compute = epoch["compute_ns"]
    threads = epoch["loader_threads"]
    ahead = "1 batch" if epoch["prefetch"] == 1 else f"{epoch['prefetch']} batches"
    loaders = f"{format_count(threads, 'loader thread')} of each rank, each up to {ahead} ahead"
    return [
        f"in batches of {format_count(epoch['batch'], 'sample')}",
        f"{format_duration(compute)} of computation for each{_spread(epoch)}" if compute else "without computation",
        loaders if threads else "loaded by the rank itself",
        {"none": "in their order", "files": "files shuffled", "samples": "samples shuffled"}[epoch["shuffle"]],
        "ranks wait for one another after each step" if epoch.get("sync_steps") else "",
        "each sample verified" if epoch.get("verify") else "",
        f"only {format_count(some, 'sample')} of it" if (some := epoch.get("samples")) else "",
        f"only {format_bytes(part)} of each sample" if (part := epoch.get("read_bytes")) else "",
        "batches held in memory until their computation ends" if epoch.get("hold_batches") else "",
    ]


def _spread(epoch: TrainOperationEpoch) -> str:
    times = epoch.get("compute_times")
    if not times:
        return ""
    if "normal" in times:
        return f" (standard deviation {format_duration(times['normal']['standard_deviation_ns'])})"
    each = [time["ns"] for time in times["histogram"]]
    return f" in the mean ({format_duration(min(each))} to {format_duration(max(each))})"
