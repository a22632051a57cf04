"""No text makes a traceback: it is a study, or it is refused with a place and a reason."""

import contextlib
import re
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ioassay.studies.cases import expand
from ioassay.studies.conftest import SMALL
from ioassay.studies.library import builtin_studies
from ioassay.studies.resolve import resolve
from ioassay.studies.target import Target
from ioassay.yaml_models.source import SourceError, parse_source

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.yaml"))
TEXTS = [
    SMALL,
    *(source.text for source in builtin_studies().values()),
    *(example.read_text(encoding="utf-8") for example in EXAMPLES),
]
SNIPPETS = [*"{}[]:-#&*!|>'\"%@`,?\n\t ", "${", "${total}", "<<: ", "- ", "null", "1e6", "-1", "", "0", "\\ud800", "٣"]
WORDS = sorted(set(re.findall(r"[\w-]+", " ".join(TEXTS))))

slow = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def mutated_studies(draw: st.DrawFn) -> str:
    """A study with a few places cut out, doubled or overwritten."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = start + draw(st.integers(0, 12))
        inserted = draw(st.sampled_from([*SNIPPETS, *WORDS, text[start:end] * 2]))
        text = text[:start] + inserted + text[end:]
    return text


def runs_or_is_refused(text: str, scale: str | None = None, typed: tuple[str, ...] = ()) -> None:
    refusal = None
    try:
        assert expand(
            resolve(parse_source(text, "my.yaml", "study"), scale, typed), "R", Target("directory", "/t"), "local"
        )
    except SourceError as error:
        refusal = error
    if refusal:
        assert refusal.problems
        refusal.message.encode()
        for line in refusal.message.splitlines():
            assert re.match(r"my\.yaml:\d+: .|--set .*: .|--scale .*: .|… and \d+ more\.", line), line


@given(st.text())
@slow
def test_any_text_is_refused_in_words(text: str) -> None:
    runs_or_is_refused(text)


@given(mutated_studies())
@slow
def test_any_damaged_study_runs_or_is_refused_in_words(text: str) -> None:
    runs_or_is_refused(text)


@given(name=st.sampled_from(["clients", "total", "", "x"]) | st.text(), value=st.text(), scale=st.text() | st.none())
@slow
def test_any_setting_runs_or_is_refused_in_words(name: str, value: str, scale: str | None) -> None:
    runs_or_is_refused(SMALL, scale, (f"{name}={value}", value))
    with contextlib.suppress(SourceError):
        resolve(parse_source(SMALL, "my.yaml", "study"), None, [f"{name}={value}"])
