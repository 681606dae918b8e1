"""The `fencepost` command: its tree, and how every way of ending becomes an exit code.

The commands themselves are in `ci.commands`; they import the other rooms when they run, so that
`fencepost --help` is quick.
"""

import errno
import signal
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from types import FrameType
from typing import Annotated

import typer

from fencepost.ci.commands import (
    chaos,
    check,
    cluster,
    describe,
    faults,
    gate,
    heal,
    mutants,
    partitions,
    reassign,
    records,
    report,
    simulate,
    topics,
)
from fencepost.ci.gate.failures import INTERRUPTED, ExpectedError, HarnessError, UsageError
from fencepost.ci.screens.console import complain, note, say

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Requests to end: a kill, or a terminal that is closed."""
HARNESS_ERROR = 3
ROOMS = tuple(
    f"fencepost.{room}." for room in ("spec", "fault_injection", "conformance", "reports")
)
"""An exception type of their own carries a sentence for people."""
OF_THE_WORLD = frozenset(
    {
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENOTDIR,
        errno.ENOSPC,
        errno.EDQUOT,
        errno.ENAMETOOLONG,
        errno.ELOOP,
    }
)
"""A folder that cannot be used is no defect of Fencepost."""


app = typer.Typer(
    name="fencepost",
    help="A formally checked conformance suite for leader-and-ISR replication.",
    epilog=(
        "Exit codes: 0 fine, 1 violation, 2 inconclusive or vacuous, "
        "3 harness error or incomplete, 4 usage."
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("gate")(gate.gate)
app.command("check")(check.check)
app.command("simulate")(simulate.simulate)
app.command("chaos")(chaos.chaos)
app.command("heal")(heal.heal)
app.command("report")(report.report)
app.add_typer(cluster.app, name="cluster")
app.add_typer(mutants.app, name="mutants")
app.add_typer(faults.app, name="faults")
app.add_typer(topics.app, name="topics")
app.add_typer(partitions.app, name="partitions")
app.add_typer(reassign.app, name="reassign")
app.command("elect")(reassign.elect)
app.command("produce")(records.produce)
app.command("consume")(records.consume)
app.command("describe")(describe.describe)


def _show_version(is_asked: bool) -> None:
    """Print the version of the installed distribution and end; raises `HarnessError`."""
    if not is_asked:
        return
    try:
        say(f"fencepost {version('fencepost')}")
    except PackageNotFoundError as error:
        raise HarnessError("fencepost is not installed here, so it has no version") from error
    raise typer.Exit


Version = Annotated[
    bool,
    typer.Option(
        "--version", help="Show the version and exit.", is_eager=True, callback=_show_version
    ),
]


@app.callback()
def fencepost(_version: Version = False) -> None:
    """What stands before a command's name."""


class Terminated(KeyboardInterrupt):
    """The process was asked to end; everything is wound up as after Ctrl-C."""


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; expected errors become one line on stderr."""
    try:
        result = app(list(arguments), prog_name="fencepost", standalone_mode=False)
    except typer.TyperException as error:
        return _misused(error)
    except ExpectedError as error:
        return fail(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        result = INTERRUPTED
    except Exception as error:
        if not _is_interrupted(error):
            return fail(_sentence_of(error), HARNESS_ERROR)
        result = INTERRUPTED
    if result == INTERRUPTED:
        return fail("interrupted; everything that was started is stopped", INTERRUPTED)
    return result if isinstance(result, int) else 0


def _is_interrupted(error: BaseException) -> bool:
    """What was wound up after a signal has failed too, for one because it got the signal itself."""
    cause = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt) or (cause is not None and _is_interrupted(cause))


def _misused(error: typer.TyperException) -> int:
    """Say what is wrong with the command line; a command that needs more words shows its help."""
    message = error.format_message().replace("Value error, ", "").rstrip(".")
    if "\n" in message:
        note(message)
        return UsageError.exit_code
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "fencepost"
    return fail(f"{message}; see {command} --help", UsageError.exit_code)


def _sentence_of(error: Exception) -> str:
    """What a room says about the world; for a defect of ours, its traceback goes before it."""
    if type(error).__module__.startswith(ROOMS):
        return str(error)
    if isinstance(error, OSError) and error.errno in OF_THE_WORLD:
        return f"{error.filename or 'the disk'}: {error.strerror}; choose or make another place"
    traceback.print_exception(error)
    return "this is a defect of Fencepost itself, not of what it checks; please report it"


def fail(message: str, exit_code: int) -> int:
    """Say `message` on stderr as one line and return `exit_code`."""
    complain(message)
    return exit_code


def main() -> None:
    """The console script."""
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, _terminate)
    sys.exit(run(sys.argv[1:]))


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    raise Terminated
