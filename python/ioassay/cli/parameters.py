"""Parameters that cost nothing as long as they are not typed, and that help shows by their names alone.

Typer builds a converter of pydantic for each parameter of a command, also for one that was left out: 0.1 s before the
first `--help` or completion. It writes an argument as `{DIR}` in the usage line, and `DIR <str>` below it.
"""

from __future__ import annotations

from typing import Any


def convert_only_typed(command: Any) -> None:
    """Has the parameters of a command converted only where a value was typed to be used."""
    for parameter in command.params:
        parameter.process_value = _only_typed(parameter)
    help_option, command.get_help_option = command.get_help_option, lambda context: _off(help_option(context))


def name_plainly(command: Any) -> None:
    """Has the help of a command call an argument by its metavar: `DIR`, or `[DIR]` where it may be left out."""
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            parameter.get_usage_pieces = _usage(parameter)
            parameter.get_help_record = _help_record(parameter)
        elif parameter.type_descriptor.is_choice and parameter.metavar is None:
            parameter.metavar = "|".join(map(str, parameter.type_descriptor.choices))


def _usage(argument: Any) -> Any:
    name = argument.metavar if argument.required else f"[{argument.metavar}]"
    return lambda context: [name]


def _help_record(argument: Any) -> Any:
    record = argument.get_help_record

    def named(context: Any) -> Any:
        _, about = record(context)
        return argument.metavar, about

    return named


def _only_typed(parameter: Any) -> Any:
    convert = parameter.process_value

    def process(context: Any, value: Any) -> Any:
        if context.resilient_parsing:  # a completion: the values are not used
            return value
        if value is None and not parameter.required and parameter.callback is None:
            return () if parameter.multiple or parameter.nargs == -1 else None
        return convert(context, value)

    return process


def _off(option: Any) -> Any:
    """The option `--help`, whose default would be `None`, which is no `bool`."""
    option.default = False
    return option
