"""From what is asked to a sweep that can begin: everything checked, today's values read, what rules recommend noted.

Nothing is changed here. Not: the experiment's keys (`experiment`), measuring (`loop`).
"""

from __future__ import annotations

import fnmatch
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from ioassay.errors import UsageError
from ioassay.execution.places import Place
from ioassay.launchers import DEFAULT
from ioassay.store.moments import now
from ioassay.store.sweep_document import ConstraintEntry, ObjectiveEntry, ParameterEntry, SweepDocument
from ioassay.studies.library import find_study
from ioassay.studies.resolve import ResolvedStudy, resolve
from ioassay.tuning.rule import Change, Rule
from ioassay.tuning.rules import RULES
from ioassay.tuning.settings import Definitions, Instance, parse
from ioassay.tuning.settings.command import Command
from ioassay.tuning.sweep.cache import past_page_cache
from ioassay.tuning.sweep.experiment import ConstraintPart, Experiment, ObjectivePart, ParameterPart
from ioassay.tuning.system import System
from ioassay.version import __version__
from ioassay.yaml_models.source import nearest

_COMMAND = "command:"
_SHOWN = 3


def prepare(
    experiment: Experiment,
    place: Place,
    system: System | None,
    *,
    launcher: str = DEFAULT,
    hosts: Sequence[str] = (),
    launcher_options: Sequence[str] = (),
    command: Sequence[str] = (),
) -> SweepDocument:
    """The document of a sweep that has measured nothing. `system`: this node, for the rules; `None`: ask none.

    Raises `UsageError` for parameters and values that do not exist or cannot be set, `CannotRun`.
    """
    study = find_study(experiment.study)
    fixed = [f"{name}={value}" for name, value in experiment.settings.items()]
    resolved = resolve(study, experiment.scale, fixed, place.target.api)
    recommended = _recommended(system) if system else {}
    parameters = [_parameter(name, part, resolved, recommended) for name, part in experiment.parameters.items()]
    past_cache = past_page_cache(experiment, parameters, resolved, place, system)
    fixed += past_cache.settings
    resolved = resolve(study, experiment.scale, fixed, place.target.api)
    _refuse_unknown_phase(experiment, resolved)
    if all(parameter.values == [parameter.today] for parameter in parameters):
        raise UsageError("There is nothing to try: every parameter has its value of today alone.", "Add other values.")
    for parameter in parameters:
        if parameter.key is not None:
            for value in parameter.values:
                resolve(study, experiment.scale, [*fixed, f"{parameter.key}={value}"], place.target.api)
    objective = experiment.objective
    budget = experiment.budget
    return SweepDocument(
        sweep=f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{experiment.name}-{secrets.token_hex(2)}",
        started=now(),
        study=experiment.study,
        target=place.storage or place.target.place,
        title=experiment.title or f"Sweep of {', '.join(experiment.parameters)}",
        command=list(command),
        ioassay_version=__version__,
        scale=experiment.scale,
        study_settings=fixed,
        notes=past_cache.notes,
        launcher=launcher,
        hosts=list(hosts),
        launcher_options=list(launcher_options),
        clients=place.clients,
        objective=ObjectiveEntry(phase=objective.phase, workload=objective.workload, measure=objective.measure),
        constraints=[
            ConstraintEntry(
                phase=constraint.phase,
                workload=constraint.workload,
                measure=constraint.measure,
                least_share=constraint.at_least,
                most_ns=constraint.at_most,
            )
            for constraint in experiment.constraints
        ],
        parameters=parameters,
        trials=budget.trials,
        time_ns=budget.time,
        precision=budget.precision,
        most_pairs=budget.pairs,
        seed=experiment.seed,
    )


def definitions(parameters: Mapping[str, ParameterPart] | Sequence[ParameterEntry]) -> Definitions:
    """The pairs of commands among parameters, by the names of these."""
    pairs = (
        parameters.items()
        if isinstance(parameters, Mapping)
        else ((parameter.name, parameter) for parameter in parameters)
    )
    return {
        name: Command(get=parameter.get, set=parameter.set)
        for name, parameter in pairs
        if parameter.get and parameter.set
    }


def setting_name(parameter: ParameterEntry) -> str | None:
    """The name of a parameter as a setting; `None` for one of the study."""
    return f"{_COMMAND}{parameter.name}" if parameter.get else parameter.setting


def _parameter(
    name: str, part: ParameterPart, resolved: ResolvedStudy, recommended: Mapping[str, tuple[str, Rule]]
) -> ParameterEntry:
    entry = ParameterEntry(
        name=name, setting=part.setting, key=part.key, get=part.get, set=part.set, values=list(part.values), today=None
    )
    setting = setting_name(entry)
    if setting is None:
        return entry.model_copy(update={"today": _of_study(name, part.key or "", resolved)})
    instances = parse(setting, definitions({name: part})).instances()
    today = todays_value(setting, instances)
    values = [_checked(value, instances, today) for value in part.values]
    if reason := next(filter(None, (instance.not_live() for instance in instances)), ""):
        raise UsageError(f"parameters.{name}: {setting} cannot be changed while the system runs: {reason}.")
    suggested, rule = about(setting, recommended)
    return entry.model_copy(
        update={"today": today, "values": values, "suggested": suggested, "rule": rule.name if rule else None}
    )


def about(setting: str, recommended: Mapping[str, tuple[str, Rule]]) -> tuple[str, Rule] | tuple[None, None]:
    """The recommendation for a setting, or for one that its pattern stands for, or whose pattern stands for it."""
    matching = (
        recommendation
        for name, recommendation in recommended.items()
        if name == setting or fnmatch.fnmatchcase(name, setting) or fnmatch.fnmatchcase(setting, name)
    )
    return next(matching, (None, None))


def todays_value(setting: str, instances: Sequence[Instance]) -> str:
    """The value now of all that a setting stands for. Raises `UsageError` where they differ, `CannotRun`."""
    values = {instance.name: instance.read() for instance in instances}
    if len(set(values.values())) > 1:
        values_text = ", ".join(f"{name} is {value}" for name, value in list(values.items())[:_SHOWN])
        raise UsageError(
            f"{setting} stands for {len(values)} settings with different values: {values_text}.",
            "Make them alike first, or vary one of them.",
        )
    return next(iter(values.values()))


def _checked(value: str, instances: Sequence[Instance], today: str) -> str:
    """A value as all that a setting stands for take it. Raises `UsageError`, `CannotSet`."""
    checked = [instance.check(value, today) for instance in instances]
    return checked[0]


def _of_study(name: str, key: str, resolved: ResolvedStudy) -> str | None:
    """A setting of the study as it is. Raises `UsageError` where it has none of that name, or a list."""
    settings = resolved.entry.settings
    if key not in settings:
        raise UsageError(
            f"parameters.{name}: `{key}` is not a setting of the study {resolved.entry.name}.", nearest(key, settings)
        )
    value = settings[key]
    if isinstance(value, list):
        value = value[0] if len(value) == 1 else None
    return value if isinstance(value, str) else None


def _recommended(system: System) -> dict[str, tuple[str, Rule]]:
    """By setting, the value that a rule recommends here, and the rule; of several the first."""
    rules: dict[str, tuple[str, Rule]] = {}
    for rule in RULES:
        for judgement in rule.judgements(system):
            if isinstance(judgement, Change):
                for assignment in judgement.assignments:
                    rules.setdefault(assignment.name, (assignment.value, rule))
    return rules


def _refuse_unknown_phase(experiment: Experiment, resolved: ResolvedStudy) -> None:
    """Raises `UsageError` for an objective or constraint on a phase that no workload has."""
    workloads = resolved.study.workloads
    parts: list[ObjectivePart | ConstraintPart] = [experiment.objective, *experiment.constraints]
    for part in parts:
        if part.workload is not None and part.workload not in workloads:
            raise UsageError(f"The study has no workload `{part.workload}`.", nearest(part.workload, workloads))
        named = [
            step for name, workload in workloads.items() if part.workload in (None, name) for step in workload.steps
        ]
        known = {word for step in named for word in (step.name, step.verb) if word}
        if part.phase is not None and part.phase not in known:
            raise UsageError(f"The study has no phase `{part.phase}`.", nearest(part.phase, known))
