"""Refuses steps that no engine could take: keys that do not go with them, and what is not there when its turn comes.

The engine refuses the same (`crates/engine/src/plan/validate`); here it is said with the line of the study.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ioassay.protocol.facts import LARGEST_TRANSFER_BYTES
from ioassay.studies import spelling, sweep
from ioassay.studies.files import FileSet, Tree
from ioassay.studies.model import Study, Workload
from ioassay.studies.shorthand import DATA
from ioassay.studies.steps import GOES_WITH, Find, Mixed, Phase, Work
from ioassay.studies.sweep import Locate
from ioassay.units import format_bytes
from ioassay.written.source import Origin, Problem, nearest

Path = tuple[str | int, ...]


def check(study: Study, at: Locate) -> list[Problem]:
    """Every reason why the steps of the study's workloads cannot be taken."""
    return [
        problem for name, workload in study.workloads.items() for problem in _Steps(study, name, workload, at).check()
    ]


@dataclass
class _Steps:
    """The steps of a workload, and what those looked at so far have left on the target."""

    study: Study
    name: str
    workload: Workload
    at: Locate
    filled: set[str] = field(default_factory=set)
    """File sets that are written in full."""
    directories: set[str] = field(default_factory=set)
    """Trees whose directories are there."""
    items: dict[str, int] = field(default_factory=dict)
    """Trees whose items are there, with the bytes in each."""
    partly: set[str] = field(default_factory=set)
    """Trees of whose items a phase with a limit has renamed or removed some."""
    uneven: set[str] = field(default_factory=set)
    """Trees that may have more items in some directories than in others."""
    phases: list[str] = field(default_factory=list)
    single: set[str] = field(default_factory=set)
    """Phases of one job that does one kind of operation."""

    def check(self) -> Iterator[Problem]:
        for index, step in enumerate(self.workload.steps):
            if step.name is None:
                continue
            place: Path = ("workloads", self.name, "steps", index)
            if step.name in self.phases:
                wrong = f"two phases of `{self.name}` are called `{step.name}`"
                yield self.at(*place).problem(wrong, "give each a `name:` of its own")
            if step.together is not None:
                yield from self._side_by_side(step.together.jobs, (*place, "together", "jobs"))
            for job, work in step.jobs():
                yield from self._work(work, (*place, "together", "jobs", job) if step.together else place)
            self.phases.append(step.name)
            if step.together is None and len(step.operations) == 1:
                self.single.add(step.name)
        if not self.phases:
            wrong = f"`{self.name}` has no phase, so nothing is measured"
            yield self.at("workloads", self.name, "steps").problem(wrong, "add `- write`")

    def _side_by_side(self, jobs: Mapping[str, Work], place: Path) -> Iterator[Problem]:
        """No rank has two jobs at the same time."""
        busy: dict[str, str] = {}
        for job, work in jobs.items():
            on = sweep.works_on(self.workload, work)
            part = self.workload.files.get(on or "") or self.workload.trees.get(on or "")
            if on is not None and part is None:
                continue  # said elsewhere
            takes = on if on is not None and part is not None and part.ranks is not None else ""
            clash = busy.get(takes) or busy.get("") or (next(iter(busy.values()), None) if not takes else None)
            if clash is not None:
                wrong = f"`{clash}` and `{job}` would have the same ranks"
                yield self.at(*place, job).problem(
                    wrong, "let each work on a file set or tree of its own, with its own share of the `ranks`"
                )
            busy[takes] = job

    def _work(self, work: Work, place: Path) -> Iterator[Problem]:
        if isinstance(work.body, Find):
            yield from self._find(work.body, place)
            return
        phase, verb = work.body, str(work.verb)
        on = sweep.works_on(self.workload, work)
        if on is None:
            yield self.at(*place).problem(*self._nothing_named(work))
            return
        known = [*(self.workload.files if phase.files else self.workload.trees if phase.tree else (on,))]
        if on not in known:
            key, what = ("files", "file set") if phase.files else ("tree", "tree")
            yield self.at(*place, verb, key).problem(f"there is no {what} `{on}`", nearest(on, known))
        elif problems := [*self._keys(work, phase, on, (*place, verb)), *self._earlier(phase, (*place, verb))]:
            yield from problems
        elif on in self.workload.files:
            yield from self._on_files(work, phase, on, place)
        else:
            yield from self._on_tree(work, phase, on, place)

    def _find(self, find: Find, place: Path) -> Iterator[Problem]:
        if find.newer_than is not None and find.newer_than not in self.phases:
            wrong = f"no phase before it is called `{find.newer_than}`"
            yield self.at(*place, "find", "newer_than").problem(wrong, nearest(find.newer_than, self.phases))
        if find.tree is not None and find.tree not in self.directories:
            wrong = f"the directories of the tree `{find.tree}` are not there"
            known = nearest(find.tree, self.directories) if self.directories else "put `- create-tree` before it"
            yield self.at(*place, "find", "tree").problem(wrong, known)
        if find.named is not None and "/" in find.named:
            wrong = "no entry has a name with a slash"
            yield self.at(*place, "find", "named").problem(wrong, "give a pattern of a name, such as `*.dat`")

    def _nothing_named(self, work: Work) -> tuple[str, str]:
        known = sweep.fitting(self.workload, work)
        if known:
            return f"`{self.name}` has several things to {work.verb}", f"name one of {', '.join(known)}"
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
                wrong = f"does not go with `{work.verb}` of {what}"
                yield self.at(*place, key).problem(wrong, f"it is for {goes.described()}")

    def _earlier(self, phase: Phase, place: Path) -> Iterator[Problem]:
        """A rate must be known when it is asked for."""
        earlier = phase.limit.at_rate_of if phase.limit else None
        if earlier is None or earlier.phase in self.single:
            return
        origin = self.at(*place, "limit", "at_rate_of", "phase")
        if earlier.phase in self.phases:
            wrong = f"`{earlier.phase}` has several jobs, or does several kinds of operations"
            yield origin.problem(wrong, "name a phase that does one")
        else:
            yield origin.problem(f"no phase before it is called `{earlier.phase}`", nearest(earlier.phase, self.phases))

    def _on_files(self, work: Work, phase: Phase, on: str, place: Path) -> Iterator[Problem]:
        files, inside = self.workload.files[on], (*place, str(work.verb))
        if phase.order == "interleaved":
            wrong = "the transfers of a file set lie in no directories"
            yield self.at(*inside, "order").problem(wrong, f"take one of {', '.join(spelling.ORDER.forms)}")
        yield from self._limit(on, phase, inside)
        yield from self._verify(files, work, phase, inside)
        if phase.barriers and (files.ranks is not None or files.files_per_rank > 1):
            wrong = "ranks wait for one another only where all of them have one file each"
            yield self.at(*inside, "barriers").problem(wrong, "leave it out")
        if phase.size == "empty" and files.layout != "N-N":
            wrong = "ranks open a shared file at different times, and the last one would empty it again"
            yield self.at(*inside, "size").problem(wrong, "take `full` or `preallocated`, or the layout N-N")
        if (depth := sweep.storage_of(self.workload, work).depth) > 1:
            in_flight = f"with {depth} transfers in flight"
            if (phase.fsync or "").startswith("every"):
                wrong = f"{in_flight} no fsync can come between two of them"
                yield self.at(*inside, "fsync").problem(wrong, "take `at-close`, or a depth of 1")
            if phase.lock:
                yield self.at(*inside, "lock").problem(f"{in_flight} none can be locked alone", "take a depth of 1")
        if work.verb in ("read", "mixed") and on not in self.filled:
            what = f"`{self.name}`" if on == DATA else f"`{self.name}`, file set `{on}`,"
            wrong = f"{what} reads what no step before has written in full"
            meant = "put `- write` before it, with `order: sequential` or `random`"
            yield self.at(*place).problem(wrong, meant)
        # An order that draws afresh leaves holes, which are read from nowhere.
        order = phase.order or files.order
        if work.verb == "write" and order.split(" ", maxsplit=1)[0] in spelling.COVERING:
            self.filled.add(on)

    def _verify(self, files: FileSet, work: Work, phase: Phase, inside: Path) -> Iterator[Problem]:
        if phase.verify is None:
            return
        origin = self.at(*inside, "verify")
        if files.payload == "zero":
            yield origin.problem("zeros look like a hole, so nothing would be verified", "take another payload")
        if work.verb not in (phase.verify.removesuffix("s"), "mixed"):
            yield origin.problem(f"the phase {phase.verify.removesuffix('s')}s nothing", f"take `{work.verb}s`")

    def _limit(self, on: str, phase: Phase, inside: Path) -> Iterator[Problem]:
        files, limit = self.workload.files[on], phase.limit.bytes if phase.limit else None
        if limit is None or phase.limit is None:
            return
        if rest := limit % files.transfer:
            wrong = f"{format_bytes(limit)} is not a multiple of the transfer of {format_bytes(files.transfer)}"
            near = [size for size in (limit - rest, limit - rest + files.transfer) if size]
            sizes = " or ".join(format_bytes(size).replace(" ", "") for size in near)
            yield self.at(*inside, "limit", "bytes").problem(wrong, f"write {sizes}")
        every = [sweep.placed(point)[on] for point in sweep.points(self.workload)]
        least = min((one.part_bytes for one in every if one.ranks.count), default=limit)
        if limit > least and phase.limit.minimum is None:
            wrong = f"{format_bytes(limit)} is more than the {format_bytes(least)} that a rank has in a case"
            yield self.at(*inside, "limit", "bytes").problem(wrong, "take less, or a `minimum` to begin again")

    def _on_tree(self, work: Work, phase: Phase, on: str, place: Path) -> Iterator[Problem]:
        tree, inside = self.workload.trees[on], (*place, str(work.verb))
        yield from self._pace_of_items(phase, inside)
        yield from self._bytes_of_items(tree, work, phase, inside)
        if phase.order is not None and phase.order not in spelling.ITEM_ORDER.forms:
            wrong = f"items have no order `{phase.order}`"
            yield self.at(*inside, "order").problem(wrong, "take `sequential`, `interleaved` or `random`")
        yield from self._turn(str(work.verb), on, self.at(*place))
        self._leave(str(work.verb), on, phase)

    def _bytes_of_items(self, tree: Tree, work: Work, phase: Phase, inside: Path) -> Iterator[Problem]:
        if (phase.fsync or "never") not in ("never", "at-close", "at-end"):
            wrong = f"items have no fsync `{phase.fsync}`"
            yield self.at(*inside, "fsync").problem(wrong, "take `at-close`, `at-end` or `never`")
        if phase.verify is not None:
            yield from self._verify_items(tree, work, phase, inside)
        moves = work.verb in ("read", "write", "replace") or phase.bytes or phase.using or phase.fsync == "at-close"
        if tree.of == "directories" and moves:
            yield self.at(*inside).problem("directories have no bytes", "take a tree of files")
        elif work.verb == "write" and not phase.bytes:
            yield self.at(*inside).problem("writes nothing into the items", "give `bytes:`")
        if phase.using == "mknod" and (phase.bytes or phase.fsync == "at-close"):
            yield self.at(*inside, "using").problem("mknod opens no file to write or sync", "take `open`")
        if tree.sharing == "shared-items":
            if phase.using == "mknod":
                yield self.at(*inside, "using").problem("mknod fails for all ranks but the first", "take `open`")
            if phase.shift:
                yield self.at(*inside, "shift").problem("all ranks have the same items", "leave it out")
            if work.verb == "replace":
                wrong = "an item that all ranks have can be replaced by one only"
                yield self.at(*inside).problem(wrong, "take `unique` or `shared`")
        held = self.items.get(sweep.works_on(self.workload, work) or "", 0)
        if work.verb in ("read", "replace") and (phase.bytes or 0) > held:
            wrong = f"{format_bytes(phase.bytes or 0)} would be read of items that hold {format_bytes(held)}"
            yield self.at(*inside, "bytes").problem(wrong, "read less, or write more")
        if (phase.bytes or 0) > LARGEST_TRANSFER_BYTES:
            wrong = f"{format_bytes(phase.bytes or 0)} in one call"
            yield self.at(*inside, "bytes").problem(wrong, f"take at most {format_bytes(LARGEST_TRANSFER_BYTES)}")

    def _verify_items(self, tree: Tree, work: Work, phase: Phase, inside: Path) -> Iterator[Problem]:
        origin = self.at(*inside, "verify")
        if (phase.verify == "reads") != (work.verb in ("read", "replace")):
            yield origin.problem(f"`{work.verb}` {'writes' if phase.verify == 'reads' else 'reads'}", "take the other")
        elif not phase.bytes:
            yield origin.problem("moves no bytes that could be compared", "give `bytes:`")
        elif tree.payload is None:
            yield origin.problem("nobody knows what the items hold", "give the tree a `payload`")

    def _pace_of_items(self, phase: Phase, inside: Path) -> Iterator[Problem]:
        """Entries have no bytes to count by."""
        if phase.limit is not None and phase.limit.bytes is not None:
            yield self.at(*inside, "limit", "bytes").problem("items are not counted in bytes", "take `operations`")
        if phase.limit is not None and phase.limit.minimum is not None:
            yield self.at(*inside, "limit", "minimum").problem("items are there only once", "take more items")
        if phase.rate is not None and "bytes_per_s" in spelling.rate_plan(phase.rate):
            yield self.at(*inside, "rate").problem("items are not counted in bytes", "give the rate in IOPS")

    def _turn(self, verb: str, on: str, origin: Origin) -> Iterator[Problem]:
        """What must be there, and must not be, when a step on a tree begins."""
        with_items = verb not in ("create-tree", "create", "remove-tree")
        of = f"`{verb}` of the tree `{on}`"
        if verb == "create-tree" and on in self.directories:
            yield origin.problem(f"{of}: its directories are there already", "create a tree once")
        elif verb in ("create", "remove-tree") and on not in self.directories:
            yield origin.problem(f"{of}: its directories are not there", "put `- create-tree` before it")
        elif with_items and on not in self.items:
            yield origin.problem(f"{of}: its items are not there", "put `- create` before it")
        elif on in self.partly:
            wrong = f"{of}: a phase with a limit has renamed, replaced or removed some of its items, nobody knows which"
            yield origin.problem(wrong, "rename, replace and remove without a limit")
        elif verb == "replace" and on in self.uneven:
            wrong = f"{of}: a limit may have left more items in some directories than in others"
            yield origin.problem(wrong, "create them with `order: interleaved`, without a stonewall")
        elif verb in ("create", "remove-tree") and on in self.items:
            yield origin.problem(f"{of}: its items are there", "put `- remove` before it")

    def _leave(self, verb: str, on: str, phase: Phase) -> None:
        """What is there after a step on a tree."""
        match verb:
            case "create-tree":
                self.directories.add(on)
            case "create" | "write":
                whole = verb == "create" or phase.limit is None
                self.items[on] = max(self.items.get(on, 0), (phase.bytes or 0) if whole else 0)
                if verb == "create" and phase.limit is not None:
                    walled = phase.limit.stonewall is not None
                    self.uneven |= {on} if walled or phase.order != "interleaved" else set()
            case "rename" | "replace" | "remove" if phase.limit is not None:
                self.partly.add(on)
            case "replace":
                self.items[on] = phase.bytes or 0
            case "remove":
                self.items.pop(on, None)
                self.uneven.discard(on)
            case "remove-tree":
                self.directories.discard(on)
