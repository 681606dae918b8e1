"""What a check, a case or a run is worth, how several are one, and the exit code they give.

The order of severity answers one question: how much can the rest still be relied on? An `ERROR`
is a fault of the harness and casts doubt on everything beside it, so it names the whole first.
Then come a proven violation, what was never reached, what ran without its premise, what ran
without a decision, a registered deviation, and what could not be seen or was not offered. Only
where nothing else was found is the whole a `PASS`.

The exit code does not follow that order at one place: a `FAIL` gives 1 even beside an `ERROR`.
A violation has its witness in the trace and stays true whatever broke afterwards, and a pipeline
must not take it for a harness that is merely ill. The label stays `ERROR`: the rest is missing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Invariant


class Verdict(StrEnum):
    """How something ended; DESIGN section 6."""

    PASS = "PASS"  # noqa: S105 - a verdict, not a password
    """The premise occurred and the condition held."""
    FAIL = "FAIL"
    """Violated, with a witness."""
    DEVIATES = "DEVIATES"
    """Violated where a deviation is registered."""
    VACUOUS = "VACUOUS"
    """It ran, but its premise never occurred: nothing was shown."""
    INCONCLUSIVE = "INCONCLUSIVE"
    """The trace or the time did not suffice for a decision."""
    UNSUPPORTED = "UNSUPPORTED"
    """The implementation declares that it does not have this."""
    NOT_OBSERVABLE = "NOT_OBSERVABLE"
    """The implementation does not show what the check needs."""
    ERROR = "ERROR"
    """The harness or its adapter failed."""
    NOT_RUN = "NOT_RUN"
    """Selected, but not reached."""


SHOWN = frozenset({Verdict.PASS, Verdict.DEVIATES})
"""With one of these a case has shown what it is about."""
BY_SEVERITY = (
    Verdict.ERROR,
    Verdict.FAIL,
    Verdict.NOT_RUN,
    Verdict.VACUOUS,
    Verdict.INCONCLUSIVE,
    Verdict.DEVIATES,
    Verdict.NOT_OBSERVABLE,
    Verdict.UNSUPPORTED,
    Verdict.PASS,
)
"""Worst first; the module docstring says why."""


class ExitCode(IntEnum):
    """What a process that judged something ends with; DESIGN section 6."""

    FINE = 0
    VIOLATION = 1
    UNDECIDED = 2
    """Inconclusive or vacuous."""
    INCOMPLETE = 3
    """The harness failed, or something that was selected did not run."""
    USAGE = 4
    """Nothing was selected, or the command line was wrong."""


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The one verdict that stands for all; `NOT_RUN` for none at all."""
    return min(verdicts, key=BY_SEVERITY.index, default=Verdict.NOT_RUN)


def exit_code(verdicts: Iterable[Verdict]) -> ExitCode:
    """The exit code of a run that gave these verdicts; `USAGE` when it gave none.

    A run in which nothing passed or deviated has shown nothing: it is `UNDECIDED`, not fine.
    """
    found = frozenset(verdicts)
    if not found:
        return ExitCode.USAGE
    if Verdict.FAIL in found:
        return ExitCode.VIOLATION
    if found & {Verdict.ERROR, Verdict.NOT_RUN}:
        return ExitCode.INCOMPLETE
    if found & {Verdict.VACUOUS, Verdict.INCONCLUSIVE}:
        return ExitCode.UNDECIDED
    return ExitCode.FINE if found & {Verdict.PASS, Verdict.DEVIATES} else ExitCode.UNDECIDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One place where an invariant does not hold, with the events that prove it."""

    invariant: Invariant
    message: str
    """One sentence for people."""
    topic: str | None = None
    partition: int | None = None
    witness: tuple[TraceEvent, ...] = ()
    """At most a handful, in the order in which the message names them."""

    @property
    def node(self) -> str | None:
        """The node of the first witness."""
        return self.witness[0].node if self.witness else None

    @property
    def seq(self) -> int | None:
        """The sequence number of the first witness on its node."""
        return self.witness[0].seq if self.witness else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What one check found; the verdict follows from the rest and cannot contradict it."""

    invariant: Invariant
    premise_count: int
    """How often the check had something to decide."""
    violations: tuple[Violation, ...] = ()
    omitted_violations: int = 0
    """Violations found beyond those that are listed."""
    doubts: tuple[str, ...] = ()
    """Why the trace does not suffice, one sentence each."""

    @property
    def verdict(self) -> Verdict:
        """`FAIL`, else `INCONCLUSIVE` when there are doubts, else `VACUOUS` without a premise."""
        if self.violations:
            return Verdict.FAIL
        if self.doubts:
            return Verdict.INCONCLUSIVE
        return Verdict.PASS if self.premise_count else Verdict.VACUOUS


MAX_LISTED = 20
"""Violations, and doubts, that one result lists; the rest is counted or dropped as repetition."""


def merge(invariant: Invariant, results: Iterable[CheckResult]) -> CheckResult:
    """One result for several partitions or runs: premises add up, so one idle part is no flaw."""
    parts = tuple(results)
    violations = tuple(violation for part in parts for violation in part.violations)
    doubts = dict.fromkeys(doubt for part in parts for doubt in part.doubts)
    hidden = max(0, len(violations) - MAX_LISTED)
    return CheckResult(
        invariant=invariant,
        premise_count=sum(part.premise_count for part in parts),
        violations=violations[:MAX_LISTED],
        omitted_violations=hidden + sum(part.omitted_violations for part in parts),
        doubts=tuple(doubts)[:MAX_LISTED],
    )
