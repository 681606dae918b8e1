"""Which scenarios on real processes a target is known not to pass, by the file of its cases."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.runs.chaos import View
from fencepost.conformance.runs.scenario import Problem, ScenarioResult
from fencepost.conformance.scenarios import SCENARIOS
from fencepost.conformance.suite.case import is_named
from fencepost.conformance.suite.expectations import (
    MATCHES_MAX,
    SCENARIO,
    Expectation,
    read_expectations,
)
from fencepost.conformance.suite.records import CaseEnd
from fencepost.conformance.verdict import SHOWN, Verdict


def read_known(path: Path) -> tuple[Expectation, ...]:
    """The entries about scenarios; raises `ChoiceError` for one that names none."""
    found = [one for one in read_expectations(path) if one.pattern.startswith(SCENARIO)]
    for one in found:
        named = [name for name in SCENARIOS if is_named(SCENARIO + name, one.pattern)]
        if not 0 < len(named) <= MATCHES_MAX:
            raise ChoiceError(
                f"{path}: {one.pattern} names {len(named)} scenarios, and 1 to {MATCHES_MAX} may "
                "be named; fencepost chaos --list has their names"
            )
    return tuple(found)


def expectations_of(path: Path, target: str) -> View:
    """A result as the entries of the file see it, if that is there.

    It is known with its reason, or failed by an entry that is not true. `target` is what
    `--target` takes. A known failure stays one, and fails nothing. Raises `ChoiceError`.
    """
    entries = read_known(path) if path.is_file() else ()
    return partial(_judged_by, entries, target)


def _judged_by(
    expectations: Sequence[Expectation], target: str, result: ScenarioResult
) -> ScenarioResult:
    end = CaseEnd(
        target=target, case=SCENARIO + result.name, verdict=result.verdict, message=result.why
    )
    for entry in expectations:
        if not entry.is_about(target, end.case):
            continue
        told = entry.expired(datetime.now(UTC).date()) or entry.unlike(end)
        if told:
            untrue = Problem(verdict=Verdict.FAIL, sentence=told)
            result = replace(result, verdict=Verdict.FAIL, problems=(untrue, *result.problems))
        elif result.verdict not in SHOWN:
            issue = f", {entry.issue}" if entry.issue else ""
            result = replace(result, known=f"{entry.reason}{issue}")
    return result
