"""A tuning of the IO500 as a document, and what the terminal shows of it. Not: sentences (`wording`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ioassay.analysis import io500
from ioassay.reports.document import (
    Block,
    Bullets,
    Column,
    Commands,
    Document,
    Figure,
    Notes,
    Paragraph,
    Preformatted,
    Section,
    Span,
    Style,
    Table,
    Text,
    facts,
    numbers,
)
from ioassay.reports.tune_io500 import wording
from ioassay.store.experiment_document import RUNS
from ioassay.text import format
from ioassay.text.units import PER_SECOND, format_rate
from ioassay.tuning.io500 import answer as answers
from ioassay.tuning.io500.answer import Answer
from ioassay.version import __version__

if TYPE_CHECKING:
    from ioassay.reports.tune_io500.pictures import Pictures

_MOST_PHASES_NAMED = 3
_RAMP = "4. Ranks per node for bandwidth"
_BALANCE = "5. Ranks per node for bandwidth and metadata"


def document(answer: Answer, drawn: Pictures | None = None) -> Document:
    """The document, with the figures where they have been drawn."""
    tuning = answer.document
    return Document(
        f"Tuning the IO500 on {tuning.target}",
        [
            *summary(answer),
            Section("1. System and theory", [_system(answer)]),
            Section("2. Striping", _striping(answer)),
            Section("3. Nodes", [Paragraph(f"{wording.nodes(tuning)}.")]),
            Section(_RAMP, [Figure(drawn.easy if drawn else None), *_ramp(answer)]),
            Section(_BALANCE, [Figure(drawn.scores if drawn else None), *_balance(answer), *_phases(answer)]),
            Section("Doubts", [_doubts(answer)]),
            Section("How it was measured", [_facts(answer), *_method(answer)]),
        ],
        question="How many nodes and ranks per node bring the best score of the IO500 here?",
        window=f"{tuning.target}: IO500 tuning",
        footer=f"Written by ioassay {__version__}.",
    )


def summary(answer: Answer) -> list[Block]:
    """The recommendation, the commands, and remarks."""
    best, tuning = answer.best, answer.document
    style: Style = "passed" if answer.is_decided and not answer.is_withheld else "warning"
    blocks: list[Block] = [Paragraph(Span(wording.recommendation(answer), style))]
    if tuning.reason:
        blocks.append(Paragraph(f"It ended early: {tuning.reason}.", note=True))
    if answer.is_withheld:
        remedies = {kind: remedy for measurement in tuning.measurements for kind, remedy in measurement.doubts.items()}
        blocks.append(Paragraph("To get a recommendation, start again and"))
        blocks.append(Bullets(list(dict.fromkeys(remedies[kind] for kind in answer.void_doubts))))
    elif best is not None:
        blocks.append(
            Commands([("The full benchmark, by the rules of the IO500", answers.study_command(tuning, best.ranks))])
        )
        if not (tuning.clients or tuning.target.startswith("lab:")):
            title = "The same with the command line of the official program, and its config.ini"
            blocks.append(Commands([(title, answers.front_end_command(tuning, best.ranks))]))
            blocks.append(Preformatted(answers.front_end_config(tuning).rstrip("\n"), "ini"))
    return [Section("Answer", [*blocks, Notes(list(wording.doubts(answer)))])]


def terminal(answer: Answer) -> list[Block]:
    """The blocks for the terminal: the tables of steps 4 and 5, and the answer."""
    return [*_ramp(answer), *_balance(answer), _doubts(answer), *summary(answer)]


def _system(answer: Answer) -> Table:
    tuning = answer.document
    rows = [(fact.name, f"{fact.value} ({fact.source})") for fact in tuning.facts]
    return facts([*rows, ("Ceiling", wording.ceiling(tuning))], title="The system")


def _striping(answer: Answer) -> list[Block]:
    entry = answer.document.striping
    striping = wording.striping(answer.document)
    return [
        Paragraph(f"{striping[:1].upper()}{striping[1:]}."),
        Commands(
            [
                (title, command)
                for title, command in (
                    ("By hand", entry.command),
                    (
                        "A progressive layout instead, in which the files of mdtest keep one stripe",
                        entry.progressive_command,
                    ),
                )
                if command
            ]
        ),
        Notes(entry.notes),
    ]


def _ramp(answer: Answer) -> list[Block]:
    columns = [
        Column("Ranks", wraps=False),
        *(Column(head, is_number=True, wraps=False) for head in ("Write", "Read", "Pairs")),
        Column("Ratio (interval)", is_number=True),
        Column("Verdict"),
    ]
    rows: list[Sequence[Text]] = [
        [
            f"{step.lower} → {step.higher}",
            wording.easy_rates(step, lambda rates: rates.write),
            wording.easy_rates(step, lambda rates: rates.read),
            f"{len(step.pairs)}",
            wording.step_gain(step),
            wording.step_verdict(step),
        ]
        for step in answer.ramp.steps
    ]
    title = "ior-easy with more ranks per node"
    return [Table(columns, rows, title, title=title, density="narrow"), Paragraph(wording.ramp_end(answer))]


def _balance(answer: Answer) -> list[Block]:
    columns = [
        *numbers("Ranks", "Rounds", "Score"),
        *(Column(head, is_number=True, wraps=False) for head in ("Bandwidth", "Metadata")),
        Column("Score / best (interval)", is_number=True),
        Column("Verdict", wraps=False),
    ]
    rows: list[Sequence[Text]] = [
        [
            f"{rank_count.ranks}",
            f"{len(rank_count.score.values)}",
            wording.spread(rank_count.score),
            wording.rate(rank_count.bandwidth, "GiB/s"),
            wording.rate(rank_count.metadata, "kIOPS"),
            wording.ratio(rank_count.ratio),
            Span(wording.standing(rank_count), "passed" if rank_count.standing == "leads" else None),
        ]
        for rank_count in answer.rank_counts
    ]
    title = "Score by ranks per node"
    return [Table(columns, rows, title, title=title, density="narrow")]


def _doubts(answer: Answer) -> Table:
    """Each kind of doubt with the measurements and phases that it concerns."""
    measured = answer.document.measurements
    remedies = {kind: remedy for measurement in measured for kind, remedy in measurement.doubts.items()}
    rows: list[Sequence[Text]] = []
    for kind, remedy in remedies.items():
        phases = dict.fromkeys(phase for measurement in measured for phase in measurement.doubted_phases.get(kind, []))
        number = sum(kind in measurement.doubts for measurement in measured)
        many = f"{len(phases)} phases" if len(phases) > _MOST_PHASES_NAMED else ", ".join(phases)
        rows.append([kind, f"{number} of {len(measured)}", many, remedy])
    columns = [Column("Doubt"), Column("Runs"), Column("Phases"), Column("Remedy")]
    return Table(columns, rows, "Doubts about the runs", title="Doubts")


def _phases(answer: Answer) -> list[Block]:
    """Each phase at each rank count: which phases a change of the ranks helps or harms."""
    measured = [rank_count for rank_count in answer.rank_counts if rank_count.phases]
    rules = [rule for rule in io500.STANDARD if any(rule.phase in rank_count.phases for rank_count in measured)]
    columns = [
        Column("Phase"),
        *(Column(f"{rank_count.ranks}", is_number=True, group="Ranks per node") for rank_count in measured),
    ]
    rows: list[Sequence[Text]] = []
    for rule in rules:
        unit = io500.UNITS[rule.group]
        values = [rank_count.phases.get(rule.phase) for rank_count in measured]
        cells = [format_rate(value * PER_SECOND[unit], unit) if value else format.ABSENT for value in values]
        rows.append([rule.phase, *cells])
    title = "Medians of each phase"
    return [Table(columns, rows, title, title=title, density="narrow")]


def _facts(answer: Answer) -> Table:
    tuning = answer.document
    rows = [
        ("Study", f"io500{f', scale {tuning.scale}' if tuning.scale else ''}; step 4 its phases of ior-easy alone"),
        ("Study settings", ", ".join(tuning.study_settings)),
        ("Launcher", tuning.launcher),
        ("Measurements", f"{len(tuning.measurements)}, each a run in {RUNS}/"),
        ("Comparisons", f"at most {tuning.most_turns} pairs or rounds; settled at ±{format.share(tuning.precision)}"),
    ]
    return facts(rows, title="The measurements")


def _method(answer: Answer) -> list[Block]:
    return [
        Bullets(
            [
                "Step 4 measures two rank counts in interleaved pairs (a, b, b, a, …), so that a drift of the system "
                "affects both. It compares the geometric mean of the write and read rates. More ranks count as a gain "
                "if the whole interval of the ratio is above 1 and the estimate is at least 1.05. The ratio is tested "
                "after each pair from the fourth on; at most 5 % of the steps without a true gain pass.",
                "Step 5 measures all phases in rounds: each rank count once per round, in rotating order. A rank count "
                "is dropped once its score is significantly below the best.",
                wording.SOURCE,
            ]
        )
    ]
