"""Contracts and log entries of Mistral, made up for property tests."""

from __future__ import annotations

from datetime import datetime

from hypothesis import strategies as st

from ioassay.monitoring.mistral.contract_file import MistralContract, MistralRule
from ioassay.monitoring.mistral.log import MOST_COMMAND, LogEntry, Source
from ioassay.monitoring.mistral.terms import CALL_TYPES, KINDS, LARGEST, MEASUREMENTS, SCOPES, CallType, SizeRange

quantities = st.integers(0, LARGEST) | st.integers(0, 9000).map(lambda number: number * 10**6)
call_types: st.SearchStrategy[tuple[CallType, ...]] = st.sets(st.sampled_from(CALL_TYPES), min_size=1).map(
    lambda names: tuple(name for name in CALL_TYPES if name in names)
)
sizes = st.builds(
    lambda least, more: SizeRange(least, None if more is None else min(least + more, LARGEST)),
    quantities,
    quantities | st.none(),
)
words = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters=",:#"), min_size=1)
texts = st.text(st.characters(codec="utf-8")) | st.text("ab,\\n\n#\"'=: ")

rules = st.builds(
    MistralRule,
    label=words,
    path=words.map("/".__add__),
    call_types=call_types,
    sizes=sizes,
    measurement=st.sampled_from(MEASUREMENTS),
    threshold=quantities,
)
contracts = st.builds(
    MistralContract,
    kind=st.sampled_from(KINDS),
    timeframe_us=st.integers(1, LARGEST),
    rules=st.lists(rules, max_size=4).map(tuple),
)
entries = st.builds(
    LogEntry,
    source=st.builds(Source, st.sampled_from(SCOPES), st.sampled_from(KINDS)),
    time=st.datetimes(datetime(1970, 1, 2)),
    label=texts,
    path=texts.map("/".__add__) | st.just(""),  # of a rule: absolute
    file_system_type=texts,
    file_system_name=texts,
    file_system_host=texts,
    call_types=call_types,
    sizes=sizes,
    measurement=st.sampled_from(MEASUREMENTS),
    measured=quantities,
    measured_us=quantities,
    threshold=quantities,
    timeframe_us=quantities,
    host=texts,
    pid=quantities,
    processor=st.integers(0, 2**32 - 1),
    command=texts.map(lambda text: text[:MOST_COMMAND]),
    file=texts,
    job_group=texts,
    job=texts,
    rank=st.integers(0, 10**9 - 1) | st.none(),
    sequence=quantities,
)
