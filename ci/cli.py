"""The `fencepost` command: its tree, and how every way of ending becomes an exit code.

The commands themselves are in `ci.commands`; the module of one is imported when it is called, so
that `fencepost --help` is quick.
"""

import errno
import signal
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from io import TextIOWrapper
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from fencepost.ci.exit_codes import INCOMPLETE, INTERRUPTED, MEANINGS, PIPE_CLOSED, listed
from fencepost.ci.gate.failures import ExpectedError, HarnessError, UsageError
from fencepost.ci.screens.console import complain, note, say

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Requests to end: a kill, or a terminal that is closed."""
DEFECT = "this is a defect of Fencepost itself, not of what it checks; please report it"
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


COMMANDS = {
    "gate": ("gate.gate", "Run every stage and judge the whole."),
    "lab": ("lab.lab", "Play a guided story: how a record is lost, and what stops it."),
    "check": ("check.check", "Check the specs with TLC."),
    "prove": ("prove.prove", "Prove invariants of the specs for any size, with z3."),
    "simulate": ("simulate.simulate", "Run the protocol in virtual time."),
    "chaos": ("chaos.chaos", "Run stories of faults on real processes."),
    "explain": (
        "explain.explain",
        "Tell what an id stands for: text, source, links, and the last verdict.",
    ),
    "heal": ("heal.heal", "End the processes and undo the faults of killed runs."),
    "report": ("report.report", "Analyse a stored run again."),
    "merge": ("merge.merge", "Join the shares of a gate, and judge the whole."),
    "diff": ("diff.diff", "Compare two runs, case by case."),
    "cluster": ("cluster.app", "A local cluster to play with."),
    "watch": (
        "watch.watch",
        "Show controller, leaders, ISRs, epochs, lag and faults of the local cluster, live.",
    ),
    "mutants": ("mutants.app", "The deliberately wrong rules of the core."),
    "faults": ("faults.app", "The kinds of faults that can be injected."),
    "conform": ("conform.app", "The conformance suite, over one or several implementations."),
    "doctor": (
        "doctor.doctor",
        "Ask an implementation one thing after the other, up to the first that is not well.",
    ),
    "bugs": ("bugs.app", "Bugs of real releases, each with the story that shows it."),
    "topics": ("topics.app", "Create, delete, list and describe topics."),
    "partitions": ("partitions.app", "Add and remove partitions of a topic."),
    "quotas": ("quotas.app", "Set and describe quotas for mutations of topics."),
    "configs": ("configs.app", "Set, delete and describe configurations."),
    "acls": ("acls.app", "Add, remove and list what users may do."),
    "tokens": ("tokens.app", "Make, renew, end and describe delegation tokens."),
    "reassign": ("reassign.app", "Move replicas to other brokers."),
    "elect": ("reassign.elect", "Elect other leaders of partitions, and wait for them."),
    "coordinator": (
        "coordinator.coordinator",
        "Show the broker that coordinates a group or a transaction.",
    ),
    "produce": ("records.produce", "Append records to a partition."),
    "consume": ("records.consume", "Print the committed records of a partition."),
    "describe": ("describe.describe", "Show brokers, controller and topics."),
}
"""Command -> the function or group of `ci.commands`, and what it does."""


def command_of(name: str) -> TyperCommand | TyperGroup:
    """The command, imported."""
    place, sentence = COMMANDS[name]
    module, _, attribute = place.partition(".")
    found = getattr(import_module(f"fencepost.ci.commands.{module}"), attribute)
    alone = typer.Typer(rich_markup_mode=None)
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name, help=sentence)
    else:
        alone.command(name)(found)
    command = typer.main.get_group(alone).commands[name]
    assert isinstance(command, TyperCommand | TyperGroup)
    return command


class CommandTree(TyperGroup):
    """Lists the commands without importing them."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401  of typer's own types
        """The command that `args` begins with, imported."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command_of(name) if name else command, rest


app = typer.Typer(
    name="fencepost",
    cls=CommandTree,
    help="A formally checked conformance suite for leader-and-ISR replication.",
    epilog=f"Exit codes: {listed()}.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _not_imported() -> None:
    """Stands for a command in the list."""


for _name, (_, _sentence) in COMMANDS.items():
    app.command(_name, help=_sentence)(_not_imported)


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
    except SystemExit as ended:  # Click's way of ending when the reader of our output has gone
        if isinstance(ended.__context__, BrokenPipeError):
            return PIPE_CLOSED
        raise
    except ExpectedError as error:
        return fail(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        result = INTERRUPTED
    except Exception as error:
        if not _is_interrupted(error):
            return fail(_sentence_of(error), INCOMPLETE)
        result = INTERRUPTED
    if result == INTERRUPTED:
        return fail("interrupted; everything that was started is stopped", INTERRUPTED)
    code = result if isinstance(result, int) else 0
    if code not in MEANINGS:
        return fail(f"the command ended with {code}, which means nothing; {DEFECT}", INCOMPLETE)
    return code


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
    return DEFECT


def fail(message: str, exit_code: int) -> int:
    """Say `message` on stderr as one line and return `exit_code`."""
    complain(message)
    return exit_code


def main() -> None:
    """The console script."""
    if isinstance(sys.stdout, TextIOWrapper):  # what the terminal's encoding lacks is escaped
        sys.stdout.reconfigure(errors="backslashreplace")
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, _terminate)
    sys.exit(run(sys.argv[1:]))


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    raise Terminated
