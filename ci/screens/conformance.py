"""What `fencepost conform` shows: cases, explanations, and what came of a run."""

from collections.abc import Iterable
from shlex import quote

from fencepost.ci.screens.console import complain, say, show_json, show_table
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.remote.channels import LACKS_VERB
from fencepost.conformance.catalogue.requirements import Requirement
from fencepost.conformance.suite.case import SuiteCase
from fencepost.conformance.suite.claims import claim_of, requirement_verdicts_of
from fencepost.conformance.suite.library import all_cases, find_case, requirements, suite_file
from fencepost.conformance.suite.records import CaseEnd, SuiteRun
from fencepost.conformance.verdict import ExitCode, Verdict, exit_code
from fencepost.fault_injection.stories.story_refusal import instead


def rows_of(cases: Iterable[SuiteCase]) -> list[dict[str, str]]:
    """One row per case."""
    return [
        {
            "id": case.case_id,
            "requirements": ", ".join(case.requirements),
            "profiles": ", ".join(n for n, one in suite_file().profile.items() if one.has(case)),
            "says": case.story.says,
        }
        for case in cases
    ]


def explanation(name: str) -> str:
    """What a case, a requirement or a profile is about; raises `ChoiceError`."""
    if name in requirements():
        return _of_requirement(requirements()[name])
    if name in suite_file().profile:
        return _of_profile(name)
    if "/" in name:
        return _of_case(find_case(name))
    near = instead(name, [*requirements(), *suite_file().profile], "fencepost conform list")
    raise ChoiceError(f"unknown id {name!r} of a case, requirement or profile; {near}")


def _of_case(case: SuiteCase) -> str:
    needs = ", ".join(sorted(case.needs)) or "nothing that must be declared"
    lines = [f"{case.case_id}: {case.story.says}", f"{case.brokers} brokers; needs {needs}"]
    for name in case.requirements:
        one = requirements()[name]
        judges = ", ".join(one.checks) or "the steps of the case"
        lines.append(f"{name} {one.title}; judged by {judges}")
    return "\n".join([*lines, case.path.read_text(encoding="utf-8").rstrip()])


def _of_requirement(one: Requirement) -> str:
    cases = [case.case_id for case in all_cases() if one.id in case.requirements]
    tla = [f"{part.module}!{name}" for part in one.tla for name in part.names]
    lines = {
        "from": ", ".join(map(str, one.source)),
        "specs": ", ".join(tla),
        "checks": ", ".join(one.checks),
        "cases": ", ".join(cases),
        "mutants": ", ".join(one.mutants),
        "note": one.note,
    }
    told = [f"{name}: {text}" for name, text in lines.items() if text]
    return "\n".join([f"{one.id} {one.title}", one.statement, *told])


def _of_profile(name: str) -> str:
    profile = suite_file().profile[name]
    cases = [case for case in all_cases() if profile.has(case)]
    covered = {requirement for case in cases for requirement in case.requirements}
    told = f"{len(cases)} cases cover {len(covered)} requirements"
    return "\n".join([f"{name}: {profile.says}", told, *(case.case_id for case in cases)])


def tell_run(run: SuiteRun, *, as_json: bool) -> None:
    """Show the verdict of each case and each requirement on each target."""
    header = run.header
    if as_json:
        show_json(document_of(run))
        return
    targets = header.targets
    cells = [[case, *(run.verdict_of(one, case) for one in targets)] for case in header.cases]
    show_table("cases", ("case", *targets), cells)
    show_table("requirements", ("requirement", *targets, "what it demands"), _requirements(run))
    for first, *others in _alike(end for end in run.ends if end.verdict is not Verdict.PASS):
        more = f" and {len(others)} more" if others else ""
        say(f"{first.verdict} {first.target} {first.case}{more}: {first.message}")
        say(f"again: {first.again}")
        if LACKS_VERB in first.message:
            say(f"next: fencepost conform probe -t {quote(first.target)}")
    for doubt in run.doubts:
        complain(doubt)
    for target in targets:
        claim = claim_of(run, target)
        say(f"{claim.sentence} ({claim.counts})")


def _alike(ends: Iterable[CaseEnd]) -> Iterable[list[CaseEnd]]:
    """Those of one target that have ended in the same way, in one list."""
    found: dict[tuple[str, Verdict, str], list[CaseEnd]] = {}
    for end in ends:
        found.setdefault((end.target, end.verdict, end.message), []).append(end)
    return found.values()


def document_of(run: SuiteRun) -> dict[str, object]:
    """The same as one JSON document."""
    ends = [
        {"target": e.target, "case": e.case, "verdict": e.verdict, "message": e.message}
        for e in run.ends
    ]
    judged = [
        {"target": r.target, "case": r.case, "requirement": r.requirement, "verdict": r.verdict}
        for r in run.requirements
    ]
    whole = {"run": str(run.folder), "complete": not run.doubts, "doubts": list(run.doubts)}
    return {**whole, "cases": ends, "requirements": judged}


def _requirements(run: SuiteRun) -> list[list[object]]:
    columns = [requirement_verdicts_of(run, target) for target in run.header.targets]
    names = sorted({name for column in columns for name in column})
    return [
        [name, *(one.get(name, Verdict.NOT_RUN) for one in columns), requirements()[name].title]
        for name in names
    ]


def exit_code_of(run: SuiteRun) -> ExitCode:
    """The exit code of the verdicts; one of a run that was cut off is 3, whatever it found."""
    code = exit_code(run.verdicts)
    return code if code is ExitCode.VIOLATION or not run.doubts else ExitCode.INCOMPLETE
