"""Refuses steps of which no plan could be made, or whose plan would not say what the study does: names that are not
there, keys that do not go with a step, words that a plan has no place for.

Not here: steps that no engine could take, such as reads of what was not written; the engine refuses these
(`crates/engine/src/plan/validate.rs`, `crates/engine/src/work`), and `studies.refusals` says it with the line of the
study.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ioassay.studies import spelling, sweep
from ioassay.studies.checkpoint import OnCheckpoint
from ioassay.studies.kv_cache import KvCache
from ioassay.studies.model import Workload
from ioassay.studies.replay import Replay
from ioassay.studies.steps import GOES_WITH, Find, Mixed, Phase, Work
from ioassay.studies.sweep import Locate
from ioassay.studies.train import OnDataset
from ioassay.text.units import format_duration
from ioassay.yaml_models.source import Problem, nearest

Path = tuple[str | int, ...]


def check(name: str, workload: Workload, origin_of: Locate) -> Iterator[Problem]:
    """Every reason why the steps of a workload cannot be taken."""
    return _Steps(name, workload, origin_of).check()


@dataclass
class _Steps:
    """The steps of a workload."""

    name: str
    workload: Workload
    origin_of: Locate
    phases: list[str] = field(default_factory=list)
    """Those before the one that is checked."""
    trees: set[str] = field(default_factory=set)
    """Whose directories are there."""

    def check(self) -> Iterator[Problem]:
        for index, step in enumerate(self.workload.steps):
            if step.name is None:
                continue
            place: Path = ("workloads", self.name, "steps", index)
            if step.name in self.phases:
                wrong = f"two phases of `{self.name}` are called `{step.name}`"
                yield self.origin_of(*place).problem(wrong, "give each a `name:` of its own")
            for job, work in step.jobs():
                yield from self._work(work, (*place, "together", "jobs", job) if step.together else place)
            self.phases.append(step.name)
        if not self.phases:
            wrong = f"`{self.name}` has no phase, so nothing is measured"
            yield self.origin_of("workloads", self.name, "steps").problem(wrong, "add `- write`")
        yield from self._search()

    def _search(self) -> Iterator[Problem]:
        if self.workload.search == "none":
            return
        if all(work.train is None for step in self.workload.steps for _, work in step.jobs()):
            wrong = f"`{self.name}` trains nothing, so no number of accelerators can be searched for"
            yield self.origin_of("workloads", self.name, "search").problem(
                wrong, "add `- train`, or leave out `search`"
            )
        elif len(self.workload.ranks_per_client) == 1:
            wrong = "one number of accelerators of each client leaves nothing to search among"
            yield self.origin_of("workloads", self.name, "ranks_per_client").problem(wrong, "write for example 1 to 16")

    def _work(self, work: Work, place: Path) -> Iterator[Problem]:
        if isinstance(work.body, Find):
            yield from self._find(work.body, place)
            return
        if isinstance(work.body, Replay):
            yield from self._replay(work.body, place)
            return
        if isinstance(work.body, OnDataset):
            named = ("dataset", "dataset", "datasets", work.body.dataset, [*self.workload.datasets])
            yield from self._on_named(named, (*place, str(work.verb)))
            return
        if isinstance(work.body, OnCheckpoint):
            named = ("checkpoint", "checkpoint", "checkpoints", work.body.checkpoint, [*self.workload.checkpoints])
            yield from self._on_named(named, (*place, str(work.verb)))
            return
        if isinstance(work.body, KvCache):
            named = ("files", "file set", "files", work.body.files, [*self.workload.files])
            yield from self._on_named(named, (*place, str(work.verb)))
            return
        phase, verb = work.body, str(work.verb)
        on = sweep.works_on(self.workload, work)
        if on is None:
            yield self.origin_of(*place).problem(*self._nothing_named(work))
            return
        known = [*(self.workload.files if phase.files else self.workload.trees if phase.tree else (on,))]
        if on not in known:
            key, what = ("files", "file set") if phase.files else ("tree", "tree")
            yield self.origin_of(*place, verb, key).problem(f"there is no {what} `{on}`", nearest(on, known))
        elif problems := [*self._keys(work, phase, on, (*place, verb)), *self._earlier(phase, (*place, verb))]:
            yield from problems
        elif on in self.workload.files:
            yield from self._on_files(phase, (*place, verb))
        else:
            yield from self._on_tree(work, phase, on, (*place, verb))

    def _find(self, find: Find, place: Path) -> Iterator[Problem]:
        if find.newer_than is not None and find.newer_than not in self.phases:
            wrong = f"`{find.newer_than}` is not an earlier phase"
            yield self.origin_of(*place, "find", "newer_than").problem(wrong, nearest(find.newer_than, self.phases))
        if find.tree is not None and find.tree not in self.trees:
            wrong = f"the directories of the tree `{find.tree}` do not exist"
            known = nearest(find.tree, self.trees) if self.trees else "add `- create-tree` before this step"
            yield self.origin_of(*place, "find", "tree").problem(wrong, known)

    def _replay(self, replay: Replay, place: Path) -> Iterator[Problem]:
        for index, verb, tree in replay.trees():
            inside = (*place, "replay", "streams", index, verb)
            if tree not in self.workload.trees:
                known = nearest(tree, self.workload.trees) if self.workload.trees else "add `trees:` to the workload"
                yield self.origin_of(*inside, "tree").problem(f"there is no tree `{tree}`", known)

    def _on_named(self, on: tuple[str, str, str, str | None, list[str]], place: Path) -> Iterator[Problem]:
        """A step on a dataset, checkpoint or file set: the key that names it, its noun, the workload's key of all, its
        name, all names.
        """
        key, what, every, name, known = on
        if name is not None and name not in known:
            instead = nearest(name, known) if known else f"add `{every}:` to the workload"
            yield self.origin_of(*place, key).problem(f"there is no {what} `{name}`", instead)
        elif name is None and len(known) != 1:
            wrong = f"`{self.name}` has {f'several {what}s' if known else f'no {what}'}"
            instead = f"name one of {', '.join(known)}" if known else f"add `{every}:` to the workload"
            yield self.origin_of(*place).problem(wrong, instead)

    def _nothing_named(self, work: Work) -> tuple[str, str]:
        known = sweep.fitting(self.workload, work)
        if known:
            return f"`{self.name}` has several file sets or trees for `{work.verb}`", f"name one of {', '.join(known)}"
        if work.verb == "mixed":
            return f"`{self.name}` has no file set to read and write", "add `files:` to the workload"
        return f"`{self.name}` has no tree for `{work.verb}`", "add `tree:` to the workload"

    def _keys(self, work: Work, phase: Phase, on: str, place: Path) -> Iterator[Problem]:
        """Keys that do not go with the step."""
        on_files = on in self.workload.files
        for key in sorted(phase.model_fields_set - ({"read"} if isinstance(phase, Mixed) else set())):
            goes = GOES_WITH[key]
            if work.verb not in (goes.files if on_files else goes.trees):
                what = "a file set" if on_files else "a tree"
                wrong = f"does not apply to `{work.verb}` of {what}"
                yield self.origin_of(*place, key).problem(wrong, f"it applies to {goes.described()}")

    def _earlier(self, phase: Phase, place: Path) -> Iterator[Problem]:
        """A rate must be known when it is asked for."""
        earlier = phase.limit.at_rate_of if phase.limit else None
        if earlier is not None and earlier.phase not in self.phases:
            wrong = f"`{earlier.phase}` is not an earlier phase"
            yield self.origin_of(*place, "limit", "at_rate_of", "phase").problem(
                wrong, nearest(earlier.phase, self.phases)
            )

    def _on_files(self, phase: Phase, inside: Path) -> Iterator[Problem]:
        if phase.order == "interleaved":
            wrong = "a file set has no directories to interleave"
            yield self.origin_of(*inside, "order").problem(wrong, f"use one of {', '.join(spelling.ORDER.forms)}")

    def _on_tree(self, work: Work, phase: Phase, on: str, inside: Path) -> Iterator[Problem]:
        if phase.order is not None and phase.order not in spelling.ITEM_ORDER.forms:
            wrong = f"`{phase.order}` is not an order of items"
            yield self.origin_of(*inside, "order").problem(wrong, "use `sequential`, `interleaved` or `random`")
        if (phase.fsync or "never") not in ("never", "at-close", "at-end"):
            wrong = f"`{phase.fsync}` is not an fsync of items"
            yield self.origin_of(*inside, "fsync").problem(wrong, "use `at-close`, `at-end` or `never`")
        # Of a tree a plan only says that something is compared.
        if phase.verify is not None and (phase.verify == "reads") != (work.verb in ("read", "replace")):
            wrong = f"`{work.verb}` cannot verify {phase.verify}"
            other = "writes" if phase.verify == "reads" else "reads"
            yield self.origin_of(*inside, "verify").problem(wrong, f"use `{other}`")
        if phase.limit is not None and phase.limit.runtime is not None:
            wrong = f"`{work.verb}` does each item once, so it ends with the last one"
            instead = f"use `stonewall: {format_duration(phase.limit.runtime).replace(' ', '')}` and more `items`"
            yield self.origin_of(*inside, "limit", "runtime").problem(wrong, f"{instead} than fit into this time")
        if work.verb == "create-tree":
            self.trees.add(on)
        elif work.verb == "remove-tree":
            self.trees.discard(on)
