"""Engine and control plane agree on what a document of the protocol may hold.

Each kind of document is made up from its JSON schema, numbers at the ends of their types, and read by both: by the
engine's types (`ioassay-dev read`) and by the control plane's readers. Both read it, and what the engine writes of it
the control plane reads again; of what is almost right both say the same.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from pydantic_core import ValidationError

from ioassay.store.protocol import Document, validator
from ioassay.testing.schema_documents import almost, documents

KINDS = get_args(Document)

EXAMPLES = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)

Engine = Callable[[str], str | None]
"""What the engine writes of a document that it has read; `None` if it refuses it."""


@pytest.fixture(scope="session")
def reader() -> Path:
    """A program that reads documents as engine and agent do."""
    root = Path(__file__).parents[1]
    subprocess.run(["cargo", "build", "--quiet", "--release", "--locked", "-p", "ioassay-dev"], cwd=root, check=True)
    return root / "target/release/ioassay-dev"


@pytest.fixture
def read_by_engine(reader: Path, kind: str) -> Iterator[Engine]:
    with subprocess.Popen([reader, "read", kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        requests, answers = process.stdin, process.stdout

        def ask(document: str) -> str | None:
            requests.write(document.encode() + b"\n")
            requests.flush()
            answer: str | None = json.loads(answers.readline()).get("written")
            return answer

        yield ask
        requests.close()


def is_read(kind: Any, document: str) -> bool:
    """Whether the control plane reads it."""
    try:
        validator(kind).validate_json(document)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_documents_of_the_schema_are_read_by_both(kind: str, read_by_engine: Engine) -> None:
    @EXAMPLES
    @given(documents(kind))
    def check(document: Any) -> None:
        text = json.dumps(document)
        written = read_by_engine(text)
        assert written is not None, "the engine refuses it"
        assert is_read(kind, text), "the control plane refuses it"
        assert is_read(kind, written), f"the control plane refuses what the engine writes: {written}"

    check()


@pytest.mark.parametrize("kind", KINDS)
def test_almost_valid_documents_are_judged_the_same_by_both(kind: str, read_by_engine: Engine) -> None:
    verdicts = set()

    @EXAMPLES
    @given(almost(documents(kind)))
    def check(document: Any) -> None:
        text = json.dumps(document)
        is_read_by_engine = read_by_engine(text) is not None
        verdicts.add(is_read_by_engine)
        assert is_read(kind, text) == is_read_by_engine

    check()
    assert verdicts == {True, False}


@pytest.mark.parametrize("kind", ["event"])
@pytest.mark.parametrize("number", ["3", "18446744073709551615", "18446744073709551616", "-1", "1.0", "1e3", "NaN"])
def test_a_number_is_read_by_both_or_by_none(kind: str, read_by_engine: Engine, number: str) -> None:
    line = f'{{"event": "files-removed", "step": 1, "files": 2, "duration_ns": {number}}}'
    is_number = number in ("3", "18446744073709551615")
    assert (read_by_engine(line) is not None, is_read(kind, line)) == (is_number, is_number)
