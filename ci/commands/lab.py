"""`fencepost lab`: guided stories in the simulator, one stop after the other."""

import sys
from typing import Annotated

import msgspec
import typer

from fencepost.ci.completion import completing
from fencepost.ci.gate.failures import UsageError, as_usage
from fencepost.ci.options import JsonOption
from fencepost.ci.screens.console import say, show_json
from fencepost.ci.screens.lab_screen import run_document, show_lab, show_labs
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.verdict import Verdict, exit_code
from fencepost.conformance.whitebox.labs import ORDER, lab_story, play_lab

LabName = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME",
        help="Which one; none lists them.",
        show_default=False,
        autocompletion=completing("lab"),
    ),
]
NoWait = Annotated[
    bool,
    typer.Option("--no-wait", help="Do not wait for Enter; it does not without a terminal."),
]
ListThem = Annotated[bool, typer.Option("--list", help="List the labs, as without a name.")]


def lab(
    name: LabName = None,
    no_wait: NoWait = False,
    list_them: ListThem = False,
    as_json: JsonOption = False,
) -> int:
    """Play a guided story: how a record is lost, and what stops it.

    In the simulator; neither Java nor ZooKeeper is needed.
    """
    if list_them and name is not None:
        raise UsageError(f"--list plays nothing; leave out {name}")
    if name is None:
        labs = {one: lab_story(one).says for one in ORDER}
        if as_json:
            show_json(labs)
        else:
            show_labs(labs)
        return 0
    with as_usage(ChoiceError):
        played = play_lab(name)
    verdict = Verdict.FAIL if played.difference else Verdict.PASS
    if as_json:
        runs = [msgspec.to_builtins(run_document(run)) for run in played.runs]
        further = list(played.story.further)
        show_json({"verdict": verdict, "lab": name, "runs": runs, "further": further})
        return exit_code([verdict])
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    show_lab(played, waits=is_terminal and not no_wait)
    if played.difference:
        say("FAIL: this lab does not show here what it is written for; the first differences:")
        for line in played.difference[:20]:
            say(line)
    return exit_code([verdict])
