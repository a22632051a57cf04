"""The errors that users see, and the exit code of each. Only the command line turns them into exits."""

from __future__ import annotations


class IoassayError(Exception):
    """Base of all errors with a message for the user.

    `remedy` says what to try next; `exit_code` follows the design: 1 a number is invalid or a criterion
    failed, 2 wrong usage or bad input, 3 could not run.
    """

    exit_code = 3

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class UsageError(IoassayError):
    """What was typed, in a command or a study, cannot be meant."""

    exit_code = 2


class CannotRun(IoassayError):
    """The input is fine but the machine, the target or the engine will not do it."""

    exit_code = 3
