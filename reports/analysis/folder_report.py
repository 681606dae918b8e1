"""What the checks found in one trace folder: one run of the system."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from fencepost.conformance.checks.observations import (
    EVERYTHING,
    OF_CLIENTS,
    Observations,
    is_sound,
    lacks,
    observed_by,
)
from fencepost.conformance.checks.trace_dialect import dialect_of
from fencepost.conformance.verdict import Verdict
from fencepost.reports.analysis.evidence import ViolationContext, WitnessLine
from fencepost.reports.page.words import inside, run_title
from fencepost.reports.tables.damage import Told
from fencepost.spec.vocabulary import Invariant

REFERENCE = "reference"
"""The implementation of a run that names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundViolation:
    """One violation, with the events that prove it."""

    message: str
    topic: str | None
    partition: int | None
    witness: tuple[WitnessLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutcome:
    """What one check found in one trace folder, or over all of them."""

    invariant: Invariant
    verdict: Verdict
    premise_count: int
    violations: tuple[FoundViolation, ...] = ()
    omitted_violations: int = 0
    doubts: tuple[str, ...] = ()
    evidence: ViolationContext | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderReport:
    """One trace folder: one run of the system."""

    index: int
    name: str
    run_ids: tuple[str, ...]
    events: int
    duration_ns: int
    has_start: bool
    is_described: bool
    """What `RunStarted` tells can be read."""
    has_end: bool
    lost_lines: int
    foreign_lines: int
    torn_lines: int
    checks: tuple[CheckOutcome, ...]
    damage: tuple[str, ...] = ()
    """What is wrong with its files, one sentence each."""
    unfit: tuple[str, ...] = ()
    """Why nothing that it shows counts, one sentence each."""
    unheard: tuple[str, ...] = ()
    """Brokers without a trace, one sentence each; what clients saw is judged, and no more."""
    observed: Observations = field(default_factory=lambda: dict(EVERYTHING))
    """Of the implementation, and how faithfully."""
    begun_ns: int | None = None
    """When it began, on the wall clock."""
    backend: str = ""
    implementation: str = REFERENCE
    level: int | None = None
    seed: int | None = None
    scenario: str = ""
    mutant: str = ""
    is_alone: bool = False
    """A mutant's run without one of the unmutated implementation beside it."""
    reproduce: str = ""

    @classmethod
    def from_detail(cls, started: str | None, **fields: Any) -> "FolderReport":  # noqa: ANN401
        """A report that is described by the `detail` of `RunStarted`."""
        told = _decode(started)
        return cls(
            **fields,
            has_start=started is not None,
            observed=observed_by(told),
            is_described=bool(told),
            backend=_text(told.get("backend")),
            implementation=_text(told.get("implementation")) or REFERENCE,
            level=_number(told.get("level")),
            seed=_number(told.get("seed")),
            scenario=_text(told.get("scenario")),
            mutant=_text(told.get("mutant")),
            reproduce=_text(told.get("reproduce")),
        )

    @property
    def is_real(self) -> bool:
        """True when the stamps are of a real clock."""
        return self.backend != "sim"

    @property
    def is_canary(self) -> bool:
        """True for a mutant's run beside others: it is expected to fail, and judged apart."""
        return bool(self.mutant) and not self.is_alone

    @property
    def is_judged(self) -> bool:
        """True when what it shows counts."""
        return not self.is_canary and not self.unfit

    @property
    def is_whole(self) -> bool:
        """True when every broker of it was heard."""
        return self.is_judged and not self.unheard

    def decides(self, invariant: Invariant) -> bool:
        """True when the check sees all of this run that it needs."""
        if self.unheard:
            return not lacks(invariant, OF_CLIENTS)
        return is_sound(invariant, self.observed)

    @property
    def decided(self) -> tuple[CheckOutcome, ...]:
        """The checks that had something to decide, in registry order."""
        return tuple(c for c in self.checks if c.premise_count and self.decides(c.invariant))

    @property
    def failed(self) -> tuple[CheckOutcome, ...]:
        """The checks that found a violation, in registry order; none in a run that is unfit."""
        if self.unfit:
            return ()
        found = (check for check in self.checks if check.verdict is Verdict.FAIL)
        return tuple(check for check in found if self.decides(check.invariant))

    @property
    def trace_verdict(self) -> Verdict:
        """`INCONCLUSIVE` when lines are missing, unreadable, or the run never ended."""
        return Verdict.INCONCLUSIVE if self.trace_doubts else Verdict.PASS

    @property
    def trace_doubts(self) -> tuple[str, ...]:
        """Why the trace does not tell everything, one sentence each."""
        reasons = {
            f"{self.title} holds no line that is a trace event.": not self.events,
            f"{self.title} lacks its RunStarted.": bool(self.events) and not self.has_start,
            f"{self.title} lacks its RunEnded: it was cut off.": bool(self.events)
            and not self.has_end,
            f"What RunStarted of {inside(self.title)} tells cannot be read.": self.has_start
            and not self.is_described,
        }
        told = [reason for reason, holds in reasons.items() if holds]
        return (*told, *self.unfit, *self.unheard, *self.damage)

    @property
    def mutant_verdict(self) -> Verdict:
        """`ERROR` when the stored run of a mutant violates nothing: then the checks disagree."""
        return Verdict.PASS if self.failed else Verdict.ERROR

    @property
    def title(self) -> str:
        """How the page calls this folder."""
        return run_title(self.name)


def told_of(started: str | None) -> Told:
    """What the `detail` of `RunStarted` tells of the run's fitness."""
    told = _decode(started)
    return Told(
        brokers=_number(told.get("brokers")),
        trace_version=_number(told.get("trace_version")),
        dialect=dialect_of(told).name,
        observed=observed_by(told),
    )


def _decode(started: str | None) -> dict[str, Any]:
    try:
        told = msgspec.json.decode(started or "{}")
    except msgspec.MsgspecError:
        return {}
    return told if isinstance(told, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
