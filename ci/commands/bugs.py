"""`fencepost bugs`: bugs of real releases, and the stories that show them."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any

import msgspec
import typer

from fencepost.ci.commands.chaos import leave_files, make_ready, new_head, play_all, tell
from fencepost.ci.commands.mutants import described
from fencepost.ci.completion import completing
from fencepost.ci.gate.failures import as_usage
from fencepost.ci.options import JsonOption, OutFolder
from fencepost.ci.screens.console import say, show_json, show_table
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.bugs.archive import Bug, bugs, find_bug
from fencepost.conformance.runs.run_settings import settings_of
from fencepost.conformance.runs.scenario import ScenarioResult
from fencepost.spec.hazards import Hazard, load_hazards

app = typer.Typer(no_args_is_help=True)
COLUMNS = ("id", "shows on", "not on", "found by", "hazard", "simulated", "what happens")

BugName = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="The number of an issue or a proposal, as KIP-101.",
        autocompletion=completing("bug"),
    ),
]
Target = Annotated[
    str,
    typer.Option(
        "--target",
        "-t",
        metavar="TARGET",
        help="What to run: kafka:RELEASE[@PROTOCOL][+CLIENT][=FOLDER].",
    ),
]


@app.command("list")
def list_bugs(as_json: JsonOption = False) -> int:
    """List each bug with the releases that have it and the checks that find it."""
    if as_json:
        show_json({"bugs": [msgspec.to_builtins(bug) for bug in bugs().values()]})
        return 0
    show_table("bugs", COLUMNS, [_cells(bug) for bug in bugs().values()])
    return 0


@app.command("explain")
def explain(bug: BugName, as_json: JsonOption = False) -> int:
    """Show a bug with its story."""
    with as_usage(ChoiceError):
        found = find_bug(bug)
    if as_json:
        show_json(msgspec.to_builtins(found))
        return 0
    say(f"{found.id}: {found.says}")
    say(f"also: {', '.join(found.aliases) or '-'}; fixed in {found.fixed_in or 'no release'}")
    say(f"shows on {_often(found, found.shows_on)}; not on {_often(found, found.absent_on)}")
    if found.tried:
        say(f"tried in vain: {found.tried}")
    say(f"found by {_list(found.found_by)}")
    for line in _elsewhere(found):
        say(line)
    say(found.path.read_text(encoding="utf-8").rstrip())
    return 0


@app.command("run")
def run(bug: BugName, target: Target, out: OutFolder = None, as_json: JsonOption = False) -> int:
    """Play the story of a bug on a release; exit code 1 when the bug shows."""
    with as_usage(ChoiceError):
        found = find_bug(bug)
        settings = settings_of({"command": target})
        scenario = found.scenario()
    make_ready(settings, [scenario])
    head = new_head(settings, None, out, f"fencepost chaos --story {scenario.name}")
    results = play_all([scenario], settings, None, head)
    page = leave_files(head, results)
    code = tell(results, head.folder, page, as_json=as_json, is_whole=False)
    if not as_json:
        say(verdict_on(found, settings.implementation.name, results[0]))
    return code


def verdict_on(bug: Bug, target: str, result: ScenarioResult) -> str:
    """Whether the bug showed, and whether that is what is recorded; with the first violation."""
    shown = bug.shown_in(result)
    expected = bug.expected_on(target)
    recorded = {None: "nothing is recorded of it", bool(shown): "as recorded"}
    told = recorded.get(expected, "unlike what is recorded")
    if shown:
        return f"{bug.id} shows on {target}, {told}: {shown}"
    return f"{bug.id} does not show on {target}, {told}"


def _cells(bug: Bug) -> list[str]:
    shown = _list(bug.shows_on) if bug.shows_on else "not found"
    places = [shown, _list(bug.absent_on), _list(bug.found_by)]
    return [bug.id, *places, bug.hazard or "-", _simulated(bug) or "-", bug.says]


def _elsewhere(bug: Bug) -> Iterator[str]:
    """The same in the specs, in the simulator and on a real release, each with its command."""
    if hazard := _hazard(bug):
        yield f"hazard {hazard.id}: {hazard.title}; repair: {hazard.repair}"
        yield f"counterexample: fencepost check {' '.join(hazard.evidence)} --out counterexamples"
    if name := _simulated(bug):
        yield f"simulated: fencepost simulate {_options_of(name)}"
    if bug.unlinked:
        yield bug.unlinked
    if bug.shows_on:
        yield f"for real: fencepost bugs run {bug.id} -t {bug.shows_on[0]}"


def _hazard(bug: Bug) -> Hazard | None:
    return next((hazard for hazard in load_hazards() if hazard.id == bug.hazard), None)


def _simulated(bug: Bug) -> str:
    """The wrong rule of the reference, or the steps, that show it; empty for none."""
    hazard = _hazard(bug)
    switch = str(hazard.switch.get("mutants")) if hazard else ""
    return bug.steps or (switch if switch in _mutants() else "")


def _options_of(name: str) -> str:
    """The steps of that name, or the seed that shows the mutant where it is found by one."""
    record = _mutants().get(name)
    if record is None or record["shows"]:
        return f"--steps {name}"
    level = "" if record["hunted_at"] is None else f" --level {record['hunted_at']}"
    return f"--mutant {name} --seed {record['seed']}{level}"


@cache
def _mutants() -> Mapping[str, dict[str, Any]]:
    return {record["mutant"]: record for record in described()}


def _often(bug: Bug, targets: tuple[str, ...]) -> str:
    told = (f"{one} ({bug.measured[one]})" if one in bug.measured else one for one in targets)
    return _list(tuple(told))


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "-"
