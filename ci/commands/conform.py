"""`fencepost conform`: the conformance suite over one or several targets."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fencepost.ci.commands.conform_adapter import make_adapter, probe_target
from fencepost.ci.commands.conform_expect import app as expect_app
from fencepost.ci.commands.conform_report import SuiteFolder, diff, report, tell, validate
from fencepost.ci.commands.conform_selftest import selftest
from fencepost.ci.completion import completing
from fencepost.ci.gate.failures import UsageError, as_usage
from fencepost.ci.gate.runs import make_run_folder, new_run_id
from fencepost.ci.options import JsonOption, OutFolder
from fencepost.ci.screens.conformance import exit_code_of, explanation, rows_of
from fencepost.ci.screens.console import note, progress, say, show_json, show_table
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.suite.claims import FATAL
from fencepost.conformance.suite.expectations import (
    Expectation,
    exit_code_with,
    is_known,
    read_expectations,
    unmet,
)
from fencepost.conformance.suite.library import all_cases, find_case, find_profile, selected
from fencepost.conformance.suite.play import REFERENCE, SuitePlan, begin, catalogue_digest, play
from fencepost.conformance.suite.records import SuiteRun, read_run
from fencepost.conformance.whitebox.suite_selftest import settings_of_subjects

app = typer.Typer(no_args_is_help=True)
app.command("probe")(probe_target)
app.command("new-adapter")(make_adapter)
app.command("report")(report)
app.command("diff")(diff)
app.command("validate")(validate)
app.command("selftest")(selftest)
app.add_typer(expect_app, name="expect", help="What a target is known not to pass.")
CORE = "core"
"""The profile that is played when nothing is selected."""
COLUMNS = ("id", "requirements", "profiles", "what it shows")

Targets = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        "-t",
        metavar="TARGET",
        help="What is judged: reference, reference:MUTANT, "
        "kafka:RELEASE[@PROTOCOL][+CLIENT][=FOLDER], cmd:PROGRAM, tcp:HOST:PORT, "
        "py:MODULE:NAME, or the command that starts a broker; may be given again.  "
        "[default: reference]",
    ),
]
ProfileName = Annotated[
    str,
    typer.Option(
        "--profile",
        metavar="NAME",
        help="The cases of a profile.",
        autocompletion=completing("profile"),
    ),
]
Select = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN",
        help="Cases by id with * and ?, area, requirement or word; may be given again.",
        autocompletion=completing("case", "requirement"),
    ),
]
Skip = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATTERN",
        help="Leave out these cases; may be given again.",
        autocompletion=completing("case", "requirement"),
    ),
]
OptionalSeed = Annotated[
    int | None,
    typer.Option(min=0, help="Seed of every random choice.  [default: that of each case]"),
]
Expected = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="What is known not to pass; anything else fails the run."),
]
Confirm = Annotated[
    int,
    typer.Option(
        "--confirm",
        metavar="N",
        min=0,
        help="Play a case that waited in vain up to N times more; one that passes then is FLAKY.",
    ),
]
MaxFail = Annotated[
    int,
    typer.Option(
        "--max-fail",
        metavar="N",
        min=0,
        help="Begin nothing more after N failures that are not expected; --resume goes on.",
    ),
]
Resumed = Annotated[
    Path | None, typer.Option(metavar="RUN", help="Go on with a run that was cut off.")
]
ListThem = Annotated[
    bool, typer.Option("--list", help="List the cases that would be played; play nothing.")
]


@app.command("list")
def list_cases(
    profile: ProfileName = "",
    select: Select = None,
    skip: Skip = None,
    as_json: JsonOption = False,
) -> int:
    """List the cases with the requirements that each covers."""
    with as_usage(ChoiceError):
        cases = selected(all_cases(), profile=profile, select=select or (), skip=skip or ())
    rows = rows_of(cases)
    if as_json:
        show_json({"cases": rows})
        return 0
    show_table("", COLUMNS, [[row[key] for key in row] for row in rows])
    areas = {case.area for case in cases}
    covered = {name for case in cases for name in case.requirements}
    say(f"{len(cases)} cases of {len(areas)} areas cover {len(covered)} requirements")
    return 0


@app.command("explain")
def explain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="Of a case, a requirement or a profile.",
            autocompletion=completing("case", "requirement", "profile"),
        ),
    ],
    as_json: JsonOption = False,
) -> int:
    """Tell what a case, a requirement or a profile is about, and what judges it."""
    with as_usage(ChoiceError):
        told = explanation(name)
    if as_json:
        show_json({"name": name, "lines": told.splitlines()})
        return 0
    say(told)
    return 0


@app.command("run")
def run(
    target: Targets = None,
    profile: ProfileName = "",
    select: Select = None,
    skip: Skip = None,
    seed: OptionalSeed = None,
    confirm: Confirm = 0,
    max_fail: MaxFail = 0,
    expect: Expected = None,
    resume: Resumed = None,
    out: OutFolder = None,
    list_them: ListThem = False,
    as_json: JsonOption = False,
) -> int:
    """Play cases on one or several targets; each case gives a verdict per requirement."""
    if list_them:
        for option, given in (("--resume", resume), ("--out", out), ("--expect", expect)):
            if given is not None:
                raise UsageError(f"--list plays nothing; leave out {option}")
        wanted = profile or ("" if select else CORE)
        return list_cases(wanted, select, skip, as_json=as_json)
    with as_usage(ChoiceError):
        expectations = read_expectations(expect) if expect else ()
        if resume is not None:
            if any([target, profile, select, skip, out, confirm, max_fail]) or seed is not None:
                raise UsageError("--resume goes on with what a run was asked for; give it alone")
            folder, plan = resume, plan_of(resume)
            settings = settings_of_subjects(plan.targets)
        else:
            plan = make_plan(target, profile, select, skip, seed)
            plan = replace(plan, confirm=confirm, max_fail=max_fail)
            settings = settings_of_subjects(plan.targets)
            folder = make_run_folder(new_run_id(), out)
            begin(plan, folder)
        found = _played(plan, settings, folder, expectations)
    tell(found, as_json=as_json)
    if expect is None:
        return exit_code_of(found)
    today = datetime.now(UTC).date()
    for sentence in unmet(found, expectations, today):
        note(sentence)
    return exit_code_with(found, expectations, today)


@app.command("rerun")
def rerun(
    run: SuiteFolder, confirm: Confirm = 0, out: OutFolder = None, as_json: JsonOption = False
) -> int:
    """Play what failed or was not decided in a run again, in a new folder."""
    with as_usage(ChoiceError):
        plan = replace(plan_of_failed(read_run(run)), confirm=confirm)
        settings = settings_of_subjects(plan.targets)
        folder = make_run_folder(new_run_id(), out)
        begin(plan, folder)
        found = _played(plan, settings, folder)
    tell(found, as_json=as_json)
    return exit_code_of(found)


def _played(
    plan: SuitePlan,
    settings: Mapping[str, ClusterSettings],
    folder: Path,
    expectations: Sequence[Expectation] = (),
) -> SuiteRun:
    """Play what is left of the plan, with its progress on the screen; the results."""
    with progress("conform") as advance:
        known = partial(is_known, expectations)
        play(plan, settings, folder, on_progress=advance, is_known=known)
    return read_run(folder)


def make_plan(
    target: list[str] | None,
    profile: str,
    select: list[str] | None,
    skip: list[str] | None,
    seed: int | None,
) -> SuitePlan:
    """What the command line asks for; raises `ChoiceError`."""
    profile = profile or ("" if select else CORE)
    if profile:
        find_profile(profile)
    cases = selected(all_cases(), profile=profile, select=select or (), skip=skip or ())
    return SuitePlan(
        targets=tuple(target or [REFERENCE]),
        cases=cases,
        profile=profile,
        select=tuple(select or ()),
        skip=tuple(skip or ()),
        seed=seed,
    )


def plan_of_failed(run: SuiteRun) -> SuitePlan:
    """The cases without a decision or with a bad one, on the targets that have such.

    Raises `ChoiceError` when there are none.
    """
    header = run.header
    pairs = [(target, case) for target in header.targets for case in header.cases]
    bad = [(target, case) for target, case in pairs if run.verdict_of(target, case) in FATAL]
    if not bad:
        raise ChoiceError(f"nothing failed in {run.folder}, and everything was decided")
    names = tuple(dict.fromkeys(case for _, case in bad))
    return SuitePlan(
        targets=tuple(dict.fromkeys(target for target, _ in bad)),
        cases=tuple(map(find_case, names)),
        select=names,
        seed=header.seed,
    )


def plan_of(folder: Path) -> SuitePlan:
    """What a run was asked for; raises `ChoiceError` when it cannot be gone on with."""
    header = read_run(folder).header
    if header.catalogue != catalogue_digest():
        raise ChoiceError(f"cases or requirements have changed since {folder}; begin a new run")
    by_id = {case.case_id: case for case in all_cases()}
    return SuitePlan(
        targets=header.targets,
        cases=tuple(by_id[name] for name in header.cases),
        profile=header.profile,
        select=header.select,
        skip=header.skip,
        seed=header.seed,
        confirm=header.confirm,
    )
