"""What may be written shorter is written out: the tree of a study as the model takes it.

A workload with one file set has its keys itself, one with one tree has `tree:`, the jobs of `together` may stand
right below it, the ways to empty caches may be a list of their own, `train` stands for a step of each of its epochs
and evaluations, and the storage of a workload or a step says only what is not as in the study's or the workload's.
Every value keeps the place where it was written.

Not here: words for single values (`studies.spelling`), what is valid (`studies.model`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

from ioassay.studies.train import MOST_EPOCHS
from ioassay.yaml_models.source import Entries, Items, Node, Origin, Text

DATA = "data"
"""Name of the file set that a workload says itself."""
TREE = "tree"
"""Name of the tree that stands under `tree:`."""
STORAGE = "storage"
"""The key of a study, a workload and a step for how I/O is done."""
COLD_CACHE = "cold-cache"
"""The key of a step that empties caches."""
TRAIN = "train"
"""The key of a step that trains for some epochs."""

EVALUATE = "evaluate"
"""The key of a step that trains for evaluations between its epochs."""

_EPOCHS = re.compile("[0-9]{1,4}$")


def spread(tree: Entries, workload_keys: Iterable[str], file_set_keys: Iterable[str]) -> Entries:
    """The tree of a study, written out."""
    storage = tree.entries.get(STORAGE)
    entries = _with_steps(tree, storage)
    workloads = entries.get("workloads")
    if isinstance(workloads, Entries):
        of_workload, of_file_set = set(workload_keys), set(file_set_keys)
        spread_out = {
            name: _workload(node, workloads.origins.get(name, node.origin), of_workload, of_file_set, storage)
            if isinstance(node, Entries)
            else node
            for name, node in workloads.entries.items()
        }
        entries["workloads"] = Entries(spread_out, workloads.origins, workloads.origin)
    return Entries(entries, tree.origins, tree.origin)


def _workload(
    node: Entries, origin: Origin, of_workload: set[str], of_file_set: set[str], storage: Node | None
) -> Entries:
    node = _with_storage(node, storage)
    entries, origins = _with_steps(node, node.entries.get(STORAGE)), dict(node.origins)
    if TREE in entries and "trees" not in entries:
        only = entries.pop(TREE)
        origins["trees"] = origins.get(TREE, only.origin)
        entries["trees"] = Entries({TREE: only}, {TREE: origins["trees"]}, only.origin)
    if not entries.keys() & {"files", "trees", "datasets", "checkpoints"} and not _only_walks(entries.get("steps")):
        names = {name for name in entries if _is_of_files(name, of_workload, of_file_set)}
        inline = {name: entries.pop(name) for name in node.entries if name in names}
        here = Origin(origin.place, node.origin.key)
        data = Entries(inline, {name: origins[name] for name in names if name in origins}, here)
        entries["files"] = Entries({DATA: data}, {DATA: here}, here)
        origins["files"] = here
    return Entries(entries, origins, node.origin)


def _is_of_files(name: str, of_workload: set[str], of_file_set: set[str]) -> bool:
    """A misspelt key goes where the nearest one belongs."""
    if name in of_workload or name in of_file_set:
        return name not in of_workload
    close = difflib.get_close_matches(name, sorted(of_workload | of_file_set), n=1)
    return bool(close) and close[0] not in of_workload


def _only_walks(steps: Node | None) -> bool:
    """True where no step needs a file set or a tree."""

    def walks(step: Node) -> bool:
        words = [step.text] if isinstance(step, Text) else list(step.entries) if isinstance(step, Entries) else []
        return words in (["find"], ["pause"])

    return isinstance(steps, Items) and bool(steps.items) and all(map(walks, steps.items))


def _with_steps(node: Entries, storage: Node | None) -> dict[str, Node]:
    """The entries of a study or workload, its steps written out; `storage` is the study's."""
    steps = node.entries.get("steps")
    if not isinstance(steps, Items):
        return dict(node.entries)
    written = [_step(epoch, storage) for step in steps.items for epoch in _epochs(step)]
    return dict(node.entries) | {"steps": Items(written, steps.origin)}


def _epochs(step: Node) -> list[Node]:
    """A step for each epoch of a `train` step, each after one that empties caches where that is asked for."""
    train = step.entries.get(TRAIN) if isinstance(step, Entries) and len(step.entries) == 1 else None
    if not isinstance(step, Entries) or not isinstance(train, Entries):
        return [step]
    count, name, cold, evaluate = (train.entries.get(key) for key in ("epochs", "name", COLD_CACHE, EVALUATE))
    epochs = 1 if count is None else int(count.text) if isinstance(count, Text) and _EPOCHS.match(count.text) else 0
    if not 1 <= epochs <= MOST_EPOCHS or not (name is None or isinstance(name, Text)):
        return [step]  # the model says what is wrong with it
    every_epochs = _every(evaluate)
    if every_epochs == 0:
        # The model says what is wrong with it, and takes no list of ways to empty caches here.
        rest = {key: node for key, node in train.entries.items() if key != COLD_CACHE}
        return [Entries({TRAIN: Entries(rest, train.origins, train.origin)}, step.origins, step.origin)]
    common = {key: node for key, node in train.entries.items() if key not in ("epochs", COLD_CACHE, EVALUATE)}
    every: list[Node] = []

    def add(keys: dict[str, Node], origins: dict[str, Origin]) -> None:
        if cold is not None:
            every.append(Entries({COLD_CACHE: cold}, {COLD_CACHE: cold.origin}, step.origin))
        every.append(Entries({TRAIN: Entries(keys, origins, train.origin)}, step.origins, step.origin))

    for epoch in range(epochs):
        numbered: dict[str, Node] = {"epoch": Text(str(epoch), train.origin)} if count is not None else {}
        label = f"{name.text if name else 'epoch'}-{epoch + 1}"
        add(common | numbered | ({"name": Text(label, train.origin)} if count is not None else {}), train.origins)
        if isinstance(evaluate, Entries) and (epoch + 1) % every_epochs == 0:
            label = f"{name.text}-evaluation" if name else "evaluation"
            label = f"{label}-{epoch + 1}" if count is not None else label
            overrides = {key: node for key, node in evaluate.entries.items() if key != "every"}
            marks: dict[str, Node] = {
                "name": Text(label, evaluate.origin),
                "evaluation": Text("yes", evaluate.origin),
                "sync": Text("no", evaluate.origin),
            }
            # What says how long it computes itself does not compute as unevenly as training.
            if "compute" in overrides:
                marks["compute_deviation"] = Text("0s", evaluate.origin)
            add(common | numbered | marks | overrides, {**train.origins, **evaluate.origins})
    return every


def _every(evaluate: Node | None) -> int:
    """After how many epochs there is an evaluation; 0 where the model says what is wrong with it."""
    if evaluate is None:
        return 1
    if not isinstance(evaluate, Entries) or not evaluate.entries.keys() <= {
        "every",
        "dataset",
        "samples",
        "batch",
        "compute",
    }:
        return 0
    every = evaluate.entries.get("every")
    if every is None:
        return 1
    return int(every.text) if isinstance(every, Text) and _EPOCHS.match(every.text) else 0


def _step(step: Node, storage: Node | None) -> Node:
    if isinstance(step, Entries) and list(step.entries) == [COLD_CACHE]:
        return _with_methods(step)
    if not isinstance(step, Entries) or list(step.entries) != ["together"]:
        return _work(step, storage)
    together = _with_jobs(step.entries["together"])
    if isinstance(together, Entries):
        jobs = together.entries["jobs"]
        if isinstance(jobs, Entries):
            each = {name: _work(work, storage) for name, work in jobs.entries.items()}
            jobs = Entries(each, jobs.origins, jobs.origin)
        together = Entries({**together.entries, "jobs": jobs}, together.origins, together.origin)
    return Entries({"together": together}, step.origins, step.origin)


def _with_methods(step: Entries) -> Entries:
    """A list of ways, under `methods`."""
    methods = step.entries[COLD_CACHE]
    if not isinstance(methods, Items):
        return step
    cold = Entries({"methods": methods}, {"methods": methods.origin}, methods.origin)
    return Entries({COLD_CACHE: cold}, step.origins, step.origin)


def _with_jobs(together: Node) -> Node:
    """Several jobs, under `jobs`."""
    if not isinstance(together, Entries) or "jobs" in together.entries:
        return together
    named: Mapping[str, Node] = {
        name: node for name, node in together.entries.items() if name == "name" and isinstance(node, Text)
    }
    jobs = {name: node for name, node in together.entries.items() if name not in named}
    return Entries(
        {**named, "jobs": Entries(jobs, together.origins, together.origin)},
        together.origins | {"jobs": together.origin},
        together.origin,
    )


def _work(work: Node, common: Node | None) -> Node:
    """What is done, with all that its storage takes from `common`."""
    if not isinstance(work, Entries) or len(work.entries) != 1:
        return work
    ((verb, body),) = work.entries.items()
    if not isinstance(body, Entries) or STORAGE not in body.entries:
        return work
    return Entries({verb: _with_storage(body, common)}, work.origins, work.origin)


def _with_storage(node: Entries, common: Node | None) -> Entries:
    """`node` with all that its storage takes from `common`. Options belong to an API: with another, none."""
    storage = node.entries.get(STORAGE, common)
    if isinstance(common, Text):
        common = storage_of_word(common)
    if isinstance(storage, Entries) and isinstance(common, Entries) and "api" not in storage.entries:
        storage = Entries({**common.entries, **storage.entries}, {**common.origins, **storage.origins}, storage.origin)
    return node if storage is None else Entries({**node.entries, STORAGE: storage}, node.origins, node.origin)


def storage_of_word(word: Text) -> Entries:
    """`storage: uring` written out: `storage: {api: uring}`."""
    return Entries({"api": word}, {"api": word.origin}, word.origin)
