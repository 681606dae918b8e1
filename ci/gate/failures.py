"""Failures that a person can mend: one sentence that says what, where and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager

from fencepost.ci.exit_codes import INCOMPLETE, USAGE


class ExpectedError(Exception):
    """Shown as one line on stderr, without a traceback; `exit_code` is the command's."""

    exit_code = INCOMPLETE


class UsageError(ExpectedError):
    """The command asks for something that does not exist, or for nothing at all."""

    exit_code = USAGE


class HarnessError(ExpectedError):
    """The world failed the harness: no verdict about the implementation follows."""

    exit_code = INCOMPLETE


@contextmanager
def as_usage(*kinds: type[Exception]) -> Iterator[None]:
    """An error of `kinds` inside is a mistake of the command line."""
    try:
        yield
    except kinds as error:
        raise UsageError(str(error)) from error
