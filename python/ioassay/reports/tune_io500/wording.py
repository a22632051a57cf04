"""The words of a tuning of the IO500: the recommendation, why each step ended, cells of its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median

from ioassay.analysis.intervals import Interval
from ioassay.analysis.spread import Spread
from ioassay.store.tune_io500_document import TuneIo500Document
from ioassay.text import format
from ioassay.text.rate_units import suited
from ioassay.text.units import PER_SECOND, RateUnit, format_count, format_rate
from ioassay.tuning.io500 import facts, ramp
from ioassay.tuning.io500.answer import Answer, RankCount
from ioassay.tuning.io500.ramp import NEAR, Ramp, RampStep, Rates, rungs
from ioassay.tuning.sweep import pairs

RULES_STONEWALL = "300s"

SOURCE = (
    'The five steps are those of Monnier, Lofstead, Lawson and Curry, "Profiling Platform Storage Using IO500 and '
    'Mistral" (PDSW 2019).'
)


def plan(document: TuneIo500Document) -> Iterator[str]:
    """Steps 1 to 3, and the measurements to come, in lines."""
    yield f"Tuning the IO500 on {document.target}"
    yield "Step 1, system and theory"
    yield from (f"  {fact.name}: {fact.value} ({fact.source})" for fact in document.facts)
    yield f"  Ceiling: {ceiling(document)}"
    yield f"Step 2, striping: {striping(document)}"
    if document.striping.command:
        yield f"  {document.striping.command}"
    yield f"Step 3, nodes: {nodes(document)}"
    yield (
        f"Steps 4 and 5: {listed(rungs(document.most_ranks))} ranks per node ({document.most_ranks_source}), write "
        f"phases of {document.stonewall}, at most {document.most_turns} measurements of each comparison"
    )


def ceiling(document: TuneIo500Document) -> str:
    """The ceiling with its source, or why it is unknown."""
    if document.ceiling is None:
        return f"unknown: {document.ceiling_unknown}"
    return f"{facts.ceiling_text(document.ceiling)} ({document.ceiling.source})"


def striping(document: TuneIo500Document) -> str:
    """The result of step 2."""
    entry = document.striping
    if not entry.applies:
        return f"not applicable: {entry.why}"
    return f"{entry.why}; {f'set under the journal {entry.journal}' if entry.journal else 'not set by this procedure'}"


def nodes(document: TuneIo500Document) -> str:
    """The result of step 3."""
    entry = document.nodes
    return (
        f"{entry.nodes} of {entry.available} available, {entry.why}; "
        f"{format_count(entry.storage_targets, 'storage target')} ({entry.storage_targets_source})"
    )


def recommendation(answer: Answer) -> str:
    """The answer in a sentence or two."""
    best, document = answer.best, answer.document
    if best is None:
        return "No rank count has a valid score, so there is nothing to recommend."
    where = f"{format_count(document.nodes.nodes, 'node')} with {per_node(best.ranks)}"
    rates = f"bandwidth {rate(best.bandwidth, 'GiB/s')}, metadata {rate(best.metadata, 'kIOPS')}"
    values = f"score {spread(best.score)}, {rates}"
    if answer.is_withheld:
        doubt_counts = ", ".join(
            f"{kind} ({number} of {len(best.score.values)})" for kind, number in answer.void_doubts.items()
        )
        return (
            f"No recommendation: the scores of the best rank count carry doubts that void a comparison: {doubt_counts}."
        )
    if not answer.is_decided:
        return f"Best so far: {where}, {values}; not all comparisons are done."
    alike = [ranks for ranks in answer.balance.alike if ranks != best.ranks]
    also = f" It does not differ significantly from {per_node(*alike)}." if alike else ""
    return f"Best: {where}, {values}.{also}"


def ramp_end(answer: Answer) -> str:
    """Why step 4 ended where it did."""
    result, ceiling_entry = answer.ramp, answer.document.ceiling
    match result.end:
        case "ceiling":
            last = _rates_at(result, result.ranks)
            reached = ramp.share(last, ceiling_entry) or 0.0
            return (
                f"Ended at {per_node(result.ranks)}: ior-easy reaches {format.share(reached)} of the "
                f"ceiling, above the threshold of {format.share(NEAR)}."
            )
        case "no gain":
            return f"Ended at {per_node(result.ranks)}: no significant gain with {result.steps[-1].higher}."
        case "loss":
            return f"Ended at {per_node(result.ranks)}: {result.steps[-1].higher} are slower."
        case "failed":
            step = result.steps[-1]
            return f"Ended at {per_node(result.ranks)}: {step.higher} could not be measured. {step.failed}"
        case "most ranks":
            by = answer.document.most_ranks_source
            grew = "each step gained" if result.steps else "there is no other count to compare with"
            return f"Ended at {per_node(result.ranks)}, the most that are tried ({by}); {grew}."
        case "open":
            return "Not finished."


def _rates_at(result: Ramp, ranks: int) -> Sequence[Rates]:
    for step in reversed(result.steps):
        if step.higher == ranks:
            return step.higher_rates
        if step.lower == ranks:
            return step.lower_rates
    return ()


def doubts(answer: Answer) -> Iterator[str]:
    """Remarks on how far to trust the numbers."""
    document = answer.document
    if document.stonewall != RULES_STONEWALL:
        yield (
            f"Write phases stop after {document.stonewall} instead of the {RULES_STONEWALL} of the rules. Data that "
            "still fits into a cache of the client or server counts as written, so rates can be too high, and the "
            "scores are not valid IO500 scores. Confirm them with the full benchmark."
        )
    if any(
        ramp.contradicts(rates, document.ceiling)
        for step in answer.ramp.steps
        for rates in (step.lower_rates, step.higher_rates)
    ):
        yield (
            "ior-easy is above the ceiling: the ceiling is too low, or a cache was measured. Step 4 did not stop at it."
        )
    if document.striping.applies and not document.striping.journal:
        yield "This procedure did not change the striping of the target."
    invalid = sum(measurement.why_invalid is not None for measurement in document.measurements)
    if invalid:
        yield f"{invalid} of {format_count(len(document.measurements), 'measurement')} are not valid and were left out."


def per_node(*ranks: int) -> str:
    """`1 rank per node`, `2 and 4 ranks per node`."""
    return f"{listed(ranks)} {'rank' if ranks == (1,) else 'ranks'} per node"


def listed(counts: Sequence[int]) -> str:
    """`1, 2 and 4`."""
    *before, last = map(str, counts)
    return f"{', '.join(before)} and {last}" if before else last


def easy_rates(step: RampStep, of: Callable[[Rates], float]) -> str:
    """The medians of ior-easy's write or read at both rank counts: `0.98 → 1.43 GB/s`."""
    values = [median(map(of, rates)) if rates else None for rates in (step.lower_rates, step.higher_rates)]
    unit = suited("rate_bytes_per_s", "write", [value for value in values if value])
    before, after = (format.ABSENT if value is None else format_rate(value, unit.name) for value in values)
    return f"{before.removesuffix(f' {unit.name}')} → {after}"


def step_verdict(step: RampStep) -> str:
    """The last cell of a step's row."""
    if step.failed:
        return "not measurable"
    return {"gain": "gain", "no gain": "no gain", "loss": "slower", "pair": "not finished"}[step.verdict]


def step_gain(step: RampStep) -> str:
    """The ratio of a step with its interval."""
    return ratio(pairs.gain(step.pairs))


def ratio(known: Interval | None) -> str:
    """A ratio with its interval: `×1.46 (95 % interval 1.32 to 1.61)`."""
    if known is None:
        return format.ABSENT
    estimate, low, high = map(format.significant, (known.estimate, known.low, known.high))
    return f"×{estimate} ({known.name} {low} to {high})"


def standing(rank_count: RankCount) -> str:
    """The last cell of a rank count's row."""
    return {
        "leads": "recommended",
        "worse": "worse",
        "no difference": "no difference",
        "open": "not finished",
        "failed": "not measurable",
    }[rank_count.standing]


def spread(values: Spread) -> str:
    """A median of scores."""
    return format.ABSENT if values.median is None else format.significant(values.median)


def rate(values: Spread, unit: RateUnit) -> str:
    """A median of bandwidths or metadata rates, which are in `unit`."""
    return format.ABSENT if values.median is None else format_rate(values.median * PER_SECOND[unit], unit)
