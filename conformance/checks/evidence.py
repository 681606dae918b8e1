"""What a check gathers while it reads a trace."""

from dataclasses import dataclass, field

from fencepost.conformance.verdict import MAX_LISTED, CheckResult, Violation
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Invariant

MAX_WITNESSES = 6
"""Events per violation: enough to see the contradiction, few enough to read."""


def milliseconds(duration_ns: int) -> str:
    """A duration as people read it, exact: `0.000001 ms` is a nanosecond."""
    return f"{duration_ns / 1_000_000:.6f}".rstrip("0").rstrip(".") + " ms"


@dataclass(slots=True, kw_only=True)
class Evidence:
    """Counts premises and keeps the first violations and doubts, bounded."""

    invariant: Invariant
    premise_count: int = 0
    violations: list[Violation] = field(default_factory=list)
    omitted: int = 0
    doubts: list[str] = field(default_factory=list)

    def violated(self, message: str, *witness: TraceEvent | None) -> None:
        """Record that `witness` contradicts the invariant; absent witnesses are left out."""
        if len(self.violations) == MAX_LISTED:
            self.omitted += 1
            return
        events = tuple(event for event in witness if event is not None)[:MAX_WITNESSES]
        placed = next((event for event in events if event.topic is not None), None)
        self.violations.append(
            Violation(
                invariant=self.invariant,
                message=message,
                topic=placed.topic if placed else None,
                partition=placed.partition if placed else None,
                witness=events,
            )
        )

    def doubt(self, message: str) -> None:
        """Record why the trace does not suffice for a decision."""
        if len(self.doubts) < MAX_LISTED and message not in self.doubts:
            self.doubts.append(message)

    def result(self) -> CheckResult:
        """What was gathered, as a value."""
        return CheckResult(
            invariant=self.invariant,
            premise_count=self.premise_count,
            violations=tuple(self.violations),
            omitted_violations=self.omitted,
            doubts=tuple(self.doubts),
        )
