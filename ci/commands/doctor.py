"""`fencepost doctor`: is an implementation well, and if not, what is missing first."""

from dataclasses import asdict
from pathlib import Path
from shlex import quote
from shutil import rmtree
from tempfile import mkdtemp
from textwrap import fill
from typing import Annotated

import typer

from fencepost.ci.gate.failures import HarnessError, as_usage
from fencepost.ci.options import JsonOption
from fencepost.ci.screens.console import note, printable, say, show_json
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.remote.channels import AdapterError
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.doctor import FIRST, Finding, examine
from fencepost.conformance.verdict import ExitCode
from fencepost.conformance.whitebox.suite_selftest import settings_of_subjects

Target = Annotated[
    str,
    typer.Option(
        "--target",
        "-t",
        metavar="TARGET",
        help="reference, cmd:PROGRAM or tcp:HOST:PORT for an adapter, py:MODULE:NAME, "
        "kafka:RELEASE[@PROTOCOL], or the command that starts a broker.",
    ),
]
WIDTH = 80
INDENT = " " * 6


def doctor(target: Target = "reference", as_json: JsonOption = False) -> int:
    """Ask an implementation one thing after the other, up to the first that is not well.

    It starts a cluster of its own, and ends it.
    """
    found: list[Finding] = []
    subject = greeted(target)
    folder = Path(mkdtemp(prefix="fencepost-doctor-"))
    for one in [subject] if isinstance(subject, Finding) else examine(subject, folder):
        found.append(one)
        if not as_json:
            tell(one)
    is_well = all(one.is_well for one in found)
    if is_well or not any(folder.iterdir()):
        rmtree(folder)
    kept = str(folder) if folder.exists() else None
    if as_json:
        steps = [asdict(one) for one in found]
        show_json({"target": target, "is_well": is_well, "steps": steps, "folder": kept})
    elif is_well:
        say(f"All is well. Next: fencepost conform run -t {quote(target)}")
    elif kept:
        note(f"logs and traces: {kept}")
    return ExitCode.FINE if is_well else HarnessError.exit_code


def greeted(target: str) -> ClusterSettings | Finding:
    """The cluster to examine; an adapter that cannot be greeted has failed the first step."""
    try:
        with as_usage(ChoiceError):
            return settings_of_subjects([target])[target]
    except AdapterError as error:
        do = FIRST.do.replace("TARGET", quote(target))
        return Finding(step=FIRST.name, is_well=False, seen=str(error), do=do)


def tell(one: Finding) -> None:
    """Print a step."""
    say(f"{'ok  ' if one.is_well else 'FAIL'}  {one.step}")
    for label, text in (("seen", one.seen), ("do", one.do)):
        if text:
            for line in f"{label}: {text}".splitlines():
                shown = printable(line)
                say(fill(shown, WIDTH, initial_indent=INDENT, subsequent_indent=INDENT))
