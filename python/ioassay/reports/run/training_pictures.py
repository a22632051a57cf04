"""The pictures of training: utilisation against accelerators, waits of steps, epochs with what the page cache served.

Not: other pictures of a run (`pictures`), drawing (`ioassay.figures.training`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from ioassay.analysis.accelerator_sweeps import accelerator_sweeps
from ioassay.analysis.training import Training
from ioassay.figures import training as figure
from ioassay.figures.picture import Picture, draw
from ioassay.reports.run.content import Content
from ioassay.reports.run.training import answer, clients_and_values
from ioassay.store.point import SweepPoint
from ioassay.text import format
from ioassay.text.slugs import slug, unique

MOST_PANELS = 6
"""Numbers of accelerators in one figure. Of more, those next to the answer are shown."""

MOST_EPOCHS = 6
"""Epochs in a histogram of waits: the first, and the last of the others."""


@dataclass(frozen=True)
class TrainingPictures:
    """The pictures of training."""

    utilisation: list[Picture]
    """One for each sweep of accelerators."""
    others: list[Picture]

    def __iter__(self) -> Iterator[Picture]:
        yield from self.utilisation
        yield from self.others


def pictures(content: Content) -> TrainingPictures:
    """The pictures of a run; none of one that trains nothing."""
    if not content.training:
        return TrainingPictures([], [])
    taken: set[str] = set()
    swept = accelerator_sweeps(content.document.cases)
    sweeps: dict[SweepPoint, list[Training]] = {}
    for training in content.training:
        sweeps.setdefault(swept[training.case], []).append(training)
    answers = {feeding.swept: answer(feeding, content.names) for feeding in content.feeding}
    utilisation, others = [], []
    for sweep, trainings in sweeps.items():
        title = clients_and_values(sweep, content.names)
        if sweep in answers:
            utilisation.append(_utilisation(title, trainings, answers[sweep], taken))
        shown = _shown(trainings, content, sweep)
        others += [_waits(title, shown, content, taken), _epochs(title, shown, taken)]
    return TrainingPictures(utilisation, others)


def _utilisation(title: str, trainings: Sequence[Training], sentence: str, taken: set[str]) -> Picture:
    rows = [
        {"accelerators": training.accelerators, "definition": definition, "percent": 100 * share}
        for training in trainings
        if training.is_valid
        for definition, share in zip(
            figure.DEFINITIONS,
            (
                training.worst_epoch.utilisation,
                training.worst_epoch.dlio_repository,
                training.worst_epoch.dlio_release,
            ),
            strict=True,
        )
        if share is not None
    ]
    data = pl.DataFrame(rows).sort("accelerators", maintain_order=True)
    data = data.with_columns(pl.col("percent").median().over("accelerators", "definition").alias("median"))
    goal = trainings[0].worst_epoch.goal
    return draw(
        figure.utilisation(data, goal),
        unique(slug(f"utilisation-{title}", "utilisation"), taken),
        title=f"{title}: utilisation against accelerators",
        data=data.rename({"percent": "utilisation_percent", "median": "median_percent"}),
        caption="A point per repetition, by its worst epoch; the lines join the medians. DLIO's definitions leave out "
        "the first step of each epoch, with the wait for the first batch.",
        description=f"Utilisation in percent against accelerators, by three definitions. {sentence}",
    )


def _shown(trainings: Sequence[Training], content: Content, sweep: SweepPoint) -> list[tuple[str, Training]]:
    """One case of each number of accelerators, ascending, with the name of its panel: the repetition in the middle."""
    by_count: dict[int, list[Training]] = {}
    for training in trainings:
        by_count.setdefault(training.accelerators, []).append(training)
    counts = sorted(by_count)
    if len(counts) > MOST_PANELS:
        feeding = next((feeding for feeding in content.feeding if feeding.swept == sweep), None)
        fed = feeding.fed.accelerators if feeding and feeding.fed else counts[0]
        counts = sorted(sorted(counts, key=lambda count: abs(count - fed))[:MOST_PANELS])
    return [(format.count(count, "accelerator"), _middle(by_count[count])) for count in counts]


def _middle(repetitions: Sequence[Training]) -> Training:
    ascending = sorted(repetitions, key=lambda training: training.worst_epoch.utilisation)
    return ascending[(len(ascending) - 1) // 2]


def _waits(title: str, shown: Sequence[tuple[str, Training]], content: Content, taken: set[str]) -> Picture:
    parts = []
    for panel, training in shown:
        epochs = [epoch.phase for epoch in training.epochs]
        epochs = [*epochs[:1], *epochs[1:][-(MOST_EPOCHS - 1) :]]
        for epoch in epochs:
            steps = content.run.latencies.filter(case=training.case, phase=epoch, operation="step")
            parts.append(
                steps.select(pl.lit(panel).alias("panel"), pl.lit(epoch).alias("epoch"), "highest_ns", "count")
            )
    data = figure.wait_bins(pl.concat(parts))
    identifier = unique(slug(f"waits-{title}", "waits"), taken)
    words = "Histogram of how long steps waited for their batch"
    if data.is_empty():
        return Picture(identifier, f"{title}: wait of steps", "", data, "No wait was measured.", f"{words}.")
    return draw(
        figure.waits(data),
        identifier,
        title=f"{title}: wait of steps",
        data=data,
        caption=f"{words}, a line per epoch, in bins of a quarter of a decade; the repetition in the middle. "
        "Steps whose batch was there wait for microseconds.",
        description=f"{words}, a panel for each number of accelerators. {_waits_in_words(shown)}",
    )


def _waits_in_words(shown: Sequence[tuple[str, Training]]) -> str:
    words = (
        f"{panel}: mean wait {format.duration(max(epoch.wait_ns for epoch in training.epochs))} in the worst epoch."
        for panel, training in shown
    )
    return " ".join(words)


def _epochs(title: str, shown: Sequence[tuple[str, Training]], taken: set[str]) -> Picture:
    data = pl.DataFrame(
        [
            {
                "panel": panel,
                "epoch": epoch.phase,
                "utilisation": 100 * epoch.utilisation,
                "cached": None if epoch.cached_share is None else 100 * epoch.cached_share,
            }
            for panel, training in shown
            for epoch in training.epochs
        ],
        schema={"panel": pl.String, "epoch": pl.String, "utilisation": pl.Float64, "cached": pl.Float64},
    )
    known = data.drop_nulls("cached")
    unknown = "" if known.height == data.height else " Epochs without a bar: not measured."
    most = max(known["cached"].to_list(), default=0.0)
    return draw(
        figure.epochs(data, shown[0][1].worst_epoch.goal),
        unique(slug(f"epochs-{title}", "epochs"), taken),
        title=f"{title}: epochs, and what the page cache served",
        data=data.rename({"utilisation": "utilisation_percent", "cached": "cached_percent"}),
        caption="Bars: share of what an epoch read that was in the page cache before, so that it did not come from "
        f"storage. Points: utilisation; the repetition in the middle.{unknown}",
        description=f"Utilisation and cached share of each epoch. At most {format.share(most / 100)} was in the page "
        "cache before an epoch.",
    )
