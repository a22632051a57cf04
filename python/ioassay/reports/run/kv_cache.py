"""A key-value cache in a report: what it saves, what storage has in the time to the first token, and how to read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ioassay.analysis.kv_cache import GOAL
from ioassay.reports.document import Block, Column, Paragraph, Table, Text
from ioassay.reports.run.training import clients_and_values
from ioassay.text import format

if TYPE_CHECKING:
    from ioassay.analysis.kv_cache import Served, Serving
    from ioassay.analysis.names import Names
    from ioassay.reports.run.content import Content

NOTE = (
    "Found: tokens that were not computed, since they were in the server's memory or on storage. Evicted: tokens that "
    "had been stored and were computed again, since they or others before them had been removed. First token: mean "
    "from the request on; its percentiles are the latencies of requests. Reading and queue: shares of that time, in "
    "reads from storage and in waiting for the accelerator, which prefills one request after another. Speed-up: tokens "
    "per second of one request's reads, by those of prefill. In time: shares of first tokens and of answers that met "
    "their deadlines. No model has run; the accelerator's times are those of the study. None of this is a result of "
    "MLPerf Storage."
)

_HEADS = (
    "Users",
    "Requests",
    "Found",
    "On storage",
    "Evicted",
    "First token",
    "Reading",
    "Queue",
    "Speed-up",
    "First in time",
    "Answers in time",
    "Objects removed",
)

MOST_ANSWERS = 4
"""Phases that a summary has a sentence for."""


def answers(content: Content) -> list[Block]:
    """How many users are served in time, where their number is swept, and what the cache saves."""
    names = content.names
    sentences = [answer(served, names) for served in content.served]
    sentences += [sentence(serving, names) for serving in content.serving[:MOST_ANSWERS]]
    return [Paragraph(each) for each in sentences]


def blocks(content: Content) -> list[Block]:
    """What each phase's cache saves, a table of all of them, and how to read it."""
    if not content.serving:
        return []
    names = content.names
    sentences = [Paragraph(sentence(serving, names)) for serving in content.serving]
    return [*sentences, table(content.serving, names), Paragraph(NOTE, note=True)]


def answer(served: Served, names: Names) -> str:
    """The number of users who have their first tokens in time, and the first one of whom too few have."""
    head = clients_and_values(served.swept, names)
    most, late = served.most, served.first_late
    deadline = format.duration(served.deadline_ns)
    serves = ""
    if most is not None:
        serves = f"{format.count(most.users, 'user')} have their first tokens within {deadline} "
        serves += f"({format.share(most.in_time)} of them)"
    if late is None:
        return f"{head}: {serves}, the most that were tried."
    share = f"{format.share(late.in_time)} of their first tokens, where {format.share(GOAL)} are needed"
    if most is None:
        return f"{head}: {format.count(late.users, 'user')} do not have their first tokens within {deadline} ({share})."
    return f"{head}: {serves}, but not {format.count(late.users)} ({share})."


def sentence(serving: Serving, names: Names) -> str:
    """The answer: what storage saves, whether reading is faster than computing, and what it costs."""
    name = names.case(serving.case)
    if not serving.requests:
        return f"{name}: no request had its first token."
    requests = format.count(serving.requests, "request")
    first = format.duration(serving.mean_first_token_ns)
    parts = [
        f"{name}: storage answers {format.share(serving.storage_share)} of the tokens of {requests}, and has "
        f"{format.share(serving.read_time_share)} of the time to the first token ({first} in the mean)."
    ]
    if (speed_up := serving.speed_up) is not None:
        faster = "faster than" if speed_up >= 1 else "slower than"
        gain = "" if speed_up >= 1 else ": such a cache gains nothing for a request that has the accelerator alone"
        times = format.significant(speed_up if speed_up >= 1 else 1 / speed_up)
        parts.append(f"Reading a token is {times} times {faster} computing it{gain}.")
    if serving.recomputed_tokens:
        evicted = format.share(serving.recomputed_tokens / serving.prompt_tokens)
        parts.append(f"{evicted} had been stored and were computed again: the cache was full.")
    if (in_time := serving.first_tokens_in_time_share) is not None:
        parts.append(f"{format.share(in_time)} of the first tokens met their deadline.")
    if (answered := serving.answers_in_time_share) is not None:
        parts.append(f"{format.share(answered)} of the answers met theirs.")
    return " ".join(parts)


def table(servings: list[Serving], names: Names) -> Table:
    """A row for each phase."""
    several = len({serving.phase for serving in servings}) > 1
    columns = [Column("Case"), *(Column(head, is_number=True) for head in _HEADS)]
    return Table(columns, [_row(serving, names, several=several) for serving in servings], title="Key-value cache")


def _row(serving: Serving, names: Names, *, several: bool) -> list[Text]:
    tokens = max(1, serving.prompt_tokens)
    speed_up = serving.speed_up
    name = names.case(serving.case)
    return [
        f"{name}, {serving.phase}" if several else name,
        format.count(serving.users),
        format.count(serving.requests),
        format.share(serving.hit_share),
        format.share(serving.storage_share),
        format.share(serving.recomputed_tokens / tokens),
        format.duration(serving.mean_first_token_ns),
        format.share(serving.read_time_share),
        format.share(serving.queue_time_share),
        "–" if speed_up is None else f"{format.significant(speed_up)} ×",
        format.share(serving.first_tokens_in_time_share),
        format.share(serving.answers_in_time_share),
        format.count(serving.evicted),
    ]
