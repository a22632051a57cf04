"""Parameters whose conversion costs nothing, and that help shows by their names alone.

Typer builds a converter of pydantic for each parameter of a command, also for one that was left out: importing pydantic
and building them takes 0.1 s. It writes an argument as `{DIR}` in the usage line, and `DIR <str>` below it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

_MOST_DIGITS = 18
"""The most digits of an integer that is converted without typer."""


def convert_only_typed(command: Any) -> None:
    """Has the parameters of a command converted only where a value was typed to be used, and without pydantic where
    the value is as it should be.
    """
    for parameter in command.params:
        parameter.process_value = _only_typed(parameter)
        if hasattr(parameter, "get_runtime_param"):
            parameter.get_runtime_param = _Converter(parameter, parameter.get_runtime_param).itself
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


class _Converter:
    """Converts what was typed to text, paths, counts and choices; typer's own converter does the rest, and refuses."""

    def __init__(self, parameter: Any, typers: Callable[[], Any]) -> None:
        self._descriptor = parameter.type_descriptor
        self._typers = typers

    def itself(self) -> _Converter:
        """The hook that typer asks for a converter."""
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value as the command wants it. Raises typer's `BadParameter`."""
        kind = self._descriptor.annotation
        try:
            if self._descriptor.is_list and isinstance(value, tuple | list):
                (kind,) = get_args(kind)
                return [self._one(kind, item) for item in value]
            return self._one(kind, value)
        except _NeedsTyper:
            return self._typers().coerce(value, param=param, ctx=ctx)

    def _one(self, kind: Any, value: Any) -> Any:
        """Raises `_Unusual` for a value that needs a closer look."""
        info = self._descriptor.parameter_info
        if info.parser is not None:
            if info.parser is Path:
                return Path(value)
            raise _NeedsTyper
        match value:
            case str() if kind is str or value in (self._descriptor.choices or ()):
                return value
            case str() | Path() if kind is Path and not (info.exists or info.resolve_path or info.allow_dash):
                if not os.path.lexists(value) or os.access(value, os.R_OK):
                    return Path(value)
            case str() | int() if kind is int and _is_plain_count(str(value)):
                number = int(value)
                if (info.min is None or info.min <= number) and (info.max is None or number <= info.max):
                    return number
        raise _NeedsTyper


def _is_plain_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS


class _NeedsTyper(Exception):
    """A value that is to be converted by typer's own converter."""


def _off(option: Any) -> Any:
    """The option `--help`, whose default would be `None`, which is no `bool`."""
    option.default = False
    return option
