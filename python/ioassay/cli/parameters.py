"""Parameters that cost nothing as long as they are not typed.

Typer builds a converter of pydantic for each parameter of a command, also for one that was left out: 0.1 s before the
first `--help` or completion.
"""

from __future__ import annotations

from typing import Any


def convert_only_typed(command: Any) -> None:
    """Has the parameters of a command converted only where a value was typed to be used."""
    for parameter in command.params:
        parameter.process_value = _only_typed(parameter)
    help_option, command.get_help_option = command.get_help_option, lambda context: _off(help_option(context))


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
