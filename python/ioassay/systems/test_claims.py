"""Claims recomputed: what follows, what does not, and what says so."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ioassay.systems.claims import CheckedClaim, check
from ioassay.systems.library import builtin_systems, read
from ioassay.yaml_models.source import parse_source

KNOWN = builtin_systems()


def checked(claim: str, **figures: str) -> CheckedClaim:
    """A claim on figures of these printed values."""
    text = "name: mine\ntitle: For tests\nsources: {paper: {title: Made up}}\nfigures:\n"
    for id, value in figures.items():
        text += f"  - {{id: {id}, test: any, operation: write, value: {value}, at: paper}}\n"
    text += f"claims:\n  - {{id: it, at: paper, {claim}}}\n"
    return check(read(parse_source(text, "mine.yaml", "system"), KNOWN), KNOWN)[0]


def builtin(system: str, claim: str) -> CheckedClaim:
    return next(checked_claim for checked_claim in check(KNOWN[system], KNOWN) if checked_claim.claim.id == claim)


@pytest.mark.parametrize(
    ("system", "claim", "verdict", "recomputed"),
    [
        ("isilon-f800", "random-read-times-lustre", "follows", 7),
        ("isilon-f800", "random-write-times-lustre", "follows", 3),
        ("isilon-f800", "random-read-better-than-lustre", "does not follow", 600),
        ("isilon-f800", "network-20-4-in-bytes", "follows", 19.28625),
        ("isilon-f800", "sequential-read-better-than-nss", "does not follow", (12 / 5.9 - 1) * 100),
        ("isilon-f800", "sequential-read-better-than-h600", "follows", 100),
        ("isilon-f800", "sequential-write-better-than-nss", "follows", 300),
        ("isilon-f800", "sequential-write-better-than-h600", "follows", (8 / 7.4 - 1) * 100),
        ("isilon-f800", "read-n-1-better-than-h600", "follows", 180),
        ("isilon-f800", "peak-read-in-figure-5-and-10", "follows", 12),
        ("dell-hpc-lustre", "sequential-write-better-than-f800", "follows", 77.5),
        ("nss-7.0-ha", "peak-write-in-figure-4-and-11", "follows", 2),
        ("nss-7.0-ha", "peak-read-in-figure-5-and-10", "follows", 5.9),
        ("astra", "score-of-121-nodes", "follows", math.sqrt(84.8118 * 35.9847)),
        ("astra", "share-of-peak", "does not follow", 84.8118 / 244 * 100),
        ("md3460-ieel", "rate-of-8-performance-bricks", "follows", 36),
        ("md3460-ieel", "rate-of-6-performance-bricks", "does not follow", 27),
        ("md3460-ieel", "lower-cost", "follows", 35),
        ("md3460-ieel", "doubled-by-tuning", "cannot be recomputed", None),
        ("pixstor-capacity-expanded", "capacity-in-tib", "follows", 8064e12 / 2**40),
        ("pixstor-capacity-expanded", "usable-in-tib", "does not follow", 6144e9 / 2**40),
    ],
)
def test_the_claims_of_the_papers(system: str, claim: str, verdict: str, recomputed: float | None) -> None:
    result = builtin(system, claim)
    assert result.verdict == verdict
    assert result.recomputed == (None if recomputed is None else pytest.approx(recomputed))


def test_a_percentage_of_that_is_called_better_is_reported() -> None:
    assert builtin("isilon-f800", "random-read-better-than-lustre").why == "It is 700% of the other, not 700% better."
    assert builtin("isilon-f800", "random-read-better-than-h600").why == ""


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("says: 2x", "follows"),
        ("says: 1.8x", "does not follow"),
        ("says: 1.8x, qualifier: about", "does not follow"),
        ("says: 1.86x, qualifier: about", "follows"),
        ("says: 2x, qualifier: almost", "follows"),
        ("says: 1.9x, qualifier: almost", "does not follow"),
        ("says: 2.3x, qualifier: almost", "does not follow"),
        ("says: 1.5x, qualifier: at-least", "follows"),
        ("says: 2.5x, qualifier: at-least", "does not follow"),
        ("says: double", "follows"),
    ],
)
def test_words_widen_a_claim_as_documented(claim: str, verdict: str) -> None:
    assert checked(f"{claim}, how: ratio, of: [a, b]", a="195.0 GB/s", b="100.0 GB/s").verdict == verdict


@pytest.mark.parametrize(
    ("figure", "says", "verdict"),
    [
        ("qualifier: about", "10.52 GB/s", "follows"),
        ("qualifier: about", "10.7 GB/s", "does not follow"),
        ("qualifier: almost", "9.0 GB/s", "follows"),
        ("qualifier: almost", "10.1 GB/s", "does not follow"),
        ("qualifier: exact", "10.1 GB/s", "does not follow"),
    ],
)
def test_words_widen_the_figures_that_a_claim_rests_on_too(figure: str, says: str, verdict: str) -> None:
    assert checked(f"says: {says}, how: same, of: [a]", a=f"10.0 GB/s, {figure}").verdict == verdict


def test_up_to_is_about_the_largest_point_and_all_else_about_each() -> None:
    points = "how: ratio, of: [[a, c], [b, c]]"
    values = {"a": "10.0 GB/s", "b": "30.0 GB/s", "c": "10.0 GB/s"}
    assert checked(f"says: 3x, qualifier: up-to, {points}", **values).verdict == "follows"
    assert checked(f"says: 2x, qualifier: up-to, {points}", **values).verdict == "does not follow"
    assert checked(f"says: 3x, {points}", **values).verdict == "does not follow"
    assert checked("says: better, how: greater, of: [[a, c], [b, c]]", **values).verdict == "does not follow"
    assert checked("says: better, how: greater, of: [[b, c], [b, a]]", **values).verdict == "follows"


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ("says: 3 GB/s, how: ratio, of: [a, b]", "What it rests on gives 1, and it says bytes/s."),
        ("says: 3 GB/s, how: sum, of: [a, c]", "What it rests on has different units."),
        ("says: 3x, how: ratio, of: [a, zero]", "It divides by a number that may have been rounded down to 0."),
        (f"says: 1x, how: product, of: [{', '.join(['999999999999999PB'] * 12)}]", "It gives too large a number."),
        ("says: better, how: greater, of: [a, c]", "What it rests on gives bytes/operations, and it says 1."),
    ],
)
def test_a_claim_that_makes_no_sense_cannot_be_recomputed(claim: str, why: str) -> None:
    result = checked(claim, a="1 GB/s", b="2 GB/s", c="3 IOPS", zero="0 GB/s")
    assert (result.verdict, result.why) == ("cannot be recomputed", why)


AMOUNTS = st.integers(1, 10**6)


@given(first=AMOUNTS, second=AMOUNTS)
def test_a_ratio_as_anybody_would_round_it_follows(first: int, second: int) -> None:
    ratio = f"{first / second:.2f}"
    assert (
        checked(f"says: {ratio}x, how: ratio, of: [a, b]", a=f"{first} GB/s", b=f"{second} GB/s").verdict == "follows"
    )


@given(first=AMOUNTS, second=AMOUNTS)
def test_better_and_of_differ_by_a_hundred_percent(first: int, second: int) -> None:
    values = {"a": f"{first} GB/s", "b": f"{second} GB/s"}
    of = checked("says: 1%, how: ratio, of: [a, b]", **values)
    better = checked("says: 1%, how: percent-better, of: [a, b]", **values)
    less = checked("says: 1%, how: percent-less, of: [a, b]", **values)
    assert of.recomputed is not None
    assert better.recomputed == pytest.approx(of.recomputed - 100, abs=1e-6)
    assert less.recomputed == pytest.approx(100 - of.recomputed, abs=1e-6)
