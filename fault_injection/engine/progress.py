"""How far a fault has come: its phases as they happen, and its report afterwards."""

from dataclasses import dataclass, replace
from typing import Any, Generic

from fencepost.fault_injection.injectors.injector import Evidence, Injector
from fencepost.fault_injection.stories.story import StoryAction
from fencepost.fault_injection.stories.triggers import OVER
from fencepost.spec.trace import Kind, Phase

EVIDENCE_MS = 10_000
"""The hard deadline of a fault: its own length, and this much longer for evidence."""
HEAL_MS = 20_000
"""How long a target may take to be well again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultReport:
    """How a fault went; times are CLOCK_MONOTONIC, None when it did not come so far."""

    action: StoryAction
    phase: Phase
    broker_id: int | None
    evidence: str | None
    injected_ns: int | None
    healed_ns: int | None
    error: str = ""
    """What went wrong with it, in words."""

    @property
    def is_effective(self) -> bool:
        """True when the fault was proved and healed."""
        return self.phase is Phase.HEALED and self.evidence is not None

    @property
    def seconds(self) -> float | None:
        """From the injection to the proof that all is well; None when it did not come so far."""
        if self.injected_ns is None or self.healed_ns is None:
            return None
        return round((self.healed_ns - self.injected_ns) / 1e9, 3)


@dataclass(slots=True, kw_only=True, eq=False)
class RunningFault(Generic[Evidence]):
    """A fault between its plan and its end."""

    action: StoryAction
    since_ms: int = 0
    """When the current phase began."""
    next_look_ms: int = 0
    phase: Phase = Phase.PLANNED
    broker_id: int | None = None
    receiver_id: int | None = None
    injection: Injector[Evidence] | None = None
    evidence: Evidence | None = None
    error: str = ""
    trouble: str = ""
    """Why the last look saw nothing; empty when the target could be asked."""
    is_undone: bool = False
    is_held: bool = False
    """True for a fault that lasts until it is healed, whatever its own time."""
    is_overdue: bool = False
    """What was to end it never came: it earns no credit."""
    injected_ms: int | None = None
    healing_ms: int | None = None
    injected_ns: int | None = None
    healed_ns: int | None = None

    @property
    def is_over(self) -> bool:
        """True when nothing more happens to it."""
        return self.phase in OVER

    def phase_line(self, detail: str | None) -> dict[str, Any]:
        """The fields of the trace line for the phase that it has come to."""
        fault = self.action.fault
        return {
            "kind": Kind.FAULT,
            "action": fault.kind,
            "fault_id": self.action.action_id,
            "fault": fault.kind,
            "phase": self.phase,
            "target": str(fault.victim),
            "broker_id": self.broker_id,
            "detail": detail,
        }

    def broker_line(self, broker_id: int) -> dict[str, Any]:
        """Of a fault that hurts several brokers in turn: the fields of the line for that broker."""
        return self.phase_line(None) | {"broker_id": broker_id, "phase": Phase.INJECTING}

    def pinned(self) -> StoryAction:
        """The action, at the brokers that its roles resolved to."""
        fault = self.action.fault.pinned(self.broker_id, self.receiver_id)
        return replace(self.action, fault=fault)


def report_of(running: RunningFault[str]) -> FaultReport:
    """How the fault stands."""
    return FaultReport(
        action=running.action,
        phase=running.phase,
        broker_id=running.broker_id,
        evidence=running.evidence,
        injected_ns=running.injected_ns,
        healed_ns=running.healed_ns,
        error=running.error or running.trouble,
    )
