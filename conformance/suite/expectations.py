"""Which cases a target is known not to pass: a TOML file, each entry with its reason.

An entry that is not true any more fails the run: a case that passes after all, another verdict,
another message, a date that is over, a pattern without a case.
"""

import json
import tomllib
from collections.abc import Iterator, Sequence
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import msgspec

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.scenarios import SCENARIOS
from fencepost.conformance.suite.case import is_named
from fencepost.conformance.suite.library import all_cases
from fencepost.conformance.suite.records import CaseEnd, SuiteRun
from fencepost.conformance.verdict import SHOWN, ExitCode, Verdict, exit_code

MATCHES_MAX = 20
"""Cases that one pattern may name: more would excuse what was never looked at."""
PREFIX_MAX = 80
SCENARIO = "chaos/"
"""How the pattern begins that names scenarios on real processes instead of cases."""
NEW_REASON = "recorded by fencepost conform expect update; say why"
NEW_ISSUE = "none yet; name it"


class Expectation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table `[[expect]]`."""

    pattern: Annotated[str, msgspec.Meta(min_length=1)]
    """The id of a case, or `chaos/` and the name of a scenario, with `*` and `?`."""
    verdict: Verdict
    reason: Annotated[str, msgspec.Meta(min_length=1)]
    target: str = "*"
    message: str = ""
    """How the sentence of the case begins; empty: any."""
    issue: str = ""
    expires: date | None = None
    """From this day on the entry fails the run."""
    flaky: bool = False
    """It may pass, too; `issue` says where that is followed up."""

    def __post_init__(self) -> None:
        if self.flaky and not self.issue:
            raise ValueError(f"{self.pattern} is flaky; name the issue that is about it")

    def is_about(self, target: str, case_id: str) -> bool:
        """True for a case that it names."""
        return fnmatchcase(target, self.target) and is_named(case_id, self.pattern)

    def expired(self, today: date) -> str:
        """That its date is over, one sentence; empty while it is not."""
        if self.expires is None or self.expires > today:
            return ""
        return f"expired: {self.pattern} was expected until {self.expires} ({self.reason})"

    def unlike(self, end: CaseEnd) -> str:
        """In what way the case ended otherwise, one sentence; empty when it ended so."""
        told = f"{end.target} {end.case}"
        if end.verdict in SHOWN:
            return "" if self.flaky else f"unexpected pass: {told} ({self.reason}); drop the entry"
        seen = end.tries[0] if self.flaky and end.is_flaky else end
        if seen.verdict is not self.verdict:
            ended = "flaky" if end.is_flaky else end.verdict
            return f"{told} is {ended}, and {self.verdict} was expected"
        if not seen.message.startswith(self.message):
            return f"{told} says {seen.message!r}; {self.message!r} was expected"
        if self.flaky and end.tries and not end.is_flaky:
            return f"{told} passed in none of {len(end.tries)} tries; drop flaky = true"
        return ""


class ExpectationFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file."""

    expect: tuple[Expectation, ...] = ()


def read_expectations(path: Path) -> tuple[Expectation, ...]:
    """The entries of a file; raises `ChoiceError`."""
    try:
        return msgspec.convert(tomllib.loads(path.read_text("utf-8")), ExpectationFile).expect
    except OSError as error:
        raise ChoiceError(f"{path}: {error.strerror}; name a file of expectations") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise ChoiceError(f"{path}: {error}") from error


def unmet(run: SuiteRun, expectations: Sequence[Expectation], today: date) -> list[str]:
    """Each way in which the entries and the run disagree, one sentence each; passes first."""
    found = [told for one in expectations for told in _of_entry(run, one, today)]
    return sorted(found, key=lambda told: not told.startswith("unexpected pass"))


def _of_entry(run: SuiteRun, entry: Expectation, today: date) -> Iterator[str]:
    if told := entry.expired(today):
        yield told
    named = [
        (target, case)
        for target in run.header.targets
        for case in run.header.cases
        if entry.is_about(target, case)
    ]
    if not any(is_named(case, entry.pattern) for case in _cases_of(run)):
        yield f"stale: {entry.pattern} names no case ({entry.reason})"
    if len(named) > MATCHES_MAX:
        yield f"too wide: {entry.pattern} names {len(named)} cases; at most {MATCHES_MAX}"
    for target, case in named:
        end = run.end_of(target, case)
        if end is not None and (told := entry.unlike(end)):
            yield told


def _cases_of(run: SuiteRun) -> Iterator[str]:
    """Of the run, and of all profiles: one file is about several targets and profiles."""
    yield from run.header.cases
    yield from (case.case_id for case in all_cases())
    yield from (SCENARIO + name for name in SCENARIOS)


def is_known(expectations: Sequence[Expectation], target: str, case_id: str) -> bool:
    """True when an entry is about the case."""
    return any(entry.is_about(target, case_id) for entry in expectations)


def is_expected(expectations: Sequence[Expectation], end: CaseEnd) -> bool:
    """True when an entry says of the case what came of it."""
    return any(
        entry.is_about(end.target, end.case) and not entry.unlike(end) for entry in expectations
    )


def exit_code_with(run: SuiteRun, expectations: Sequence[Expectation], today: date) -> ExitCode:
    """The exit code of what was not expected; 1 when an entry is not true."""
    if unmet(run, expectations, today):
        return ExitCode.VIOLATION
    if run.doubts:
        return ExitCode.INCOMPLETE
    left = [end.verdict for end in run.ends if not is_expected(expectations, end)]
    return exit_code(left) if left else ExitCode.FINE


def updated(
    run: SuiteRun, expectations: Sequence[Expectation], today: date
) -> tuple[Expectation, ...]:
    """The entries that say what came of this run: true ones stay, new ones ask for a reason.

    Raises `ChoiceError` for a run that is cut off, or of some of the cases only.
    """
    if run.doubts or not run.header.is_whole:
        why = run.doubts[0] if run.doubts else "only some of the cases were selected"
        raise ChoiceError(f"{run.folder} decides no expectations: {why}; run a whole profile")
    kept = tuple(one for one in expectations if not list(_of_entry(run, one, today)))
    new = tuple(
        Expectation(
            pattern=end.case,
            target=end.target,
            verdict=seen.verdict,
            message=seen.message.partition("\n")[0][:PREFIX_MAX],
            reason=NEW_REASON,
            issue=NEW_ISSUE if end.is_flaky else "",
            flaky=end.is_flaky,
        )
        for end in run.ends
        if end.verdict not in SHOWN and not is_expected(kept, end)
        for seen in [end.tries[0] if end.is_flaky else end]
    )
    return kept + new


def as_toml(expectations: Sequence[Expectation]) -> str:
    """The file with these entries."""
    return "\n".join(map(_table, expectations))


def _table(entry: Expectation) -> str:
    fields = {
        "pattern": entry.pattern,
        "target": entry.target if entry.target != "*" else "",
        "verdict": str(entry.verdict),
        "message": entry.message,
        "reason": entry.reason,
        "issue": entry.issue,
    }
    lines = [f"{name} = {json.dumps(text)}" for name, text in fields.items() if text]
    if entry.flaky:
        lines.append("flaky = true")
    if entry.expires is not None:
        lines.append(f"expires = {entry.expires.isoformat()}")
    return "\n".join(["[[expect]]", *lines]) + "\n"
