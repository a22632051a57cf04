"""Who else sets what a plan changes, and would set it back: TuneD."""

from __future__ import annotations

from collections.abc import Iterator

from ioassay.tuning.change_plan import ChangePlan
from ioassay.tuning.settings.coupling import tuned_options
from ioassay.tuning.system.tuned import is_running


def set_back_by_tuned(plan: ChangePlan, profile: str = "") -> Iterator[str]:
    """The settings that TuneD would set back when it starts, each with whose line it is, as a sentence.

    `profile`: of TuneD, which is written for this plan and changes what the active one sets.
    """
    options = tuned_options(plan.root)
    when = "restarts" if is_running(plan.root) else "starts"
    for step in plan.live:
        option = options.get(step.name)
        if option is None or (profile and option.unit is not None):
            continue
        after = option.value_after(step.wanted)
        if not option.condition and step.instance.is_same(step.wanted, after):
            continue
        bound = f"{option.bound} " if option.bound else ""
        sets = f"may set it ({option.condition})" if option.condition else f"sets {bound}{option.value}"
        yield f"{step.name}: {option.where} {sets}, again when TuneD {when}; change it there"
