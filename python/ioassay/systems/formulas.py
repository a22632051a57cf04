"""A checked claim as a line of arithmetic: what was claimed, and what its figures give.

Not: whether the claim follows (`claims`), where the line stands (`ioassay.reports.systems`).
"""

from __future__ import annotations

from fractions import Fraction

from ioassay.systems.amounts import Amount
from ioassay.systems.claims import CheckedClaim, ResolvedOperand
from ioassay.systems.model import Claim, Qualifier, Rule
from ioassay.text.units import format_count

QUALIFIED: dict[Qualifier, str] = {
    "exact": "",
    "about": "~",
    "almost": "almost ",
    "up-to": "up to ",
    "at-least": "at least ",
}
"""The words before a number."""

_FORMULAS: dict[Rule, tuple[str, str, str]] = {
    "same": ("", "", ""),
    "ratio": ("", " ÷ ", ""),
    "percent-better": ("", " ÷ ", " − 1"),
    "percent-less": ("1 − ", " ÷ ", ""),
    "product": ("", " × ", ""),
    "sum": ("", " + ", ""),
    "mean": ("mean of ", " and ", ""),
    "geometric-mean": ("geometric mean of ", " and ", ""),
    "greater": ("", " ÷ ", ""),
    "similar": ("", " ÷ ", ""),
}
"""The text before, between and after the operands of each rule."""


def says(claim: Claim) -> str:
    """The claim with its qualifier: `up to 400%`."""
    return QUALIFIED[claim.qualifier] + (claim.claimed.text if claim.claimed else claim.says).removeprefix(
        QUALIFIED[claim.qualifier]
    )


def recomputed(checked: CheckedClaim) -> str:
    """`6 × 4.5GB/s = 27 GB/s (26.7 to 27.3)`; empty where nothing was."""
    if checked.claim.how is None or checked.recomputed is None or checked.low is None or checked.high is None:
        return ""
    claimed = checked.claim.claimed
    text = _digits(checked.recomputed, claimed) + _unit(claimed)
    if checked.low != checked.high:
        text += f" ({_digits(checked.low, claimed)} to {_digits(checked.high, claimed)})"
    others = len(checked.claim.of) - 1
    more = f", and {format_count(others, 'point')} more" if others else ""
    if checked.claim.how == "same" and claimed and checked.operands[0].amount.factor == claimed.factor:
        return text + more
    before, between, after = _FORMULAS[checked.claim.how]
    return f"{before}{between.join(_operand(operand) for operand in checked.operands)}{after} = {text}{more}"


def _operand(operand: ResolvedOperand) -> str:
    """A tilde is shorter than the word, and formulas are."""
    return ("~" if operand.qualifier == "about" else "") + operand.amount.text


def _digits(value: float, claimed: Amount | None) -> str:
    """A digit more than was claimed: enough to see whether it rounds to that."""
    decimals = len(str(Fraction(1, 2) / claimed.half)) if claimed else 2
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".")


def _unit(claimed: Amount | None) -> str:
    unit = "x" if claimed is None else claimed.unit
    return unit if unit in ("x", "%") else f" {unit}".rstrip()
