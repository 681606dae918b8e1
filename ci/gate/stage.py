"""What a stage of the gate is."""

from collections.abc import Callable
from dataclasses import dataclass

from fencepost.ci.gate.outcomes import StageOutcome
from fencepost.ci.gate.verdict_files import GateRun


@dataclass(frozen=True, slots=True, kw_only=True)
class GateStage:
    """One step of the gate."""

    name: str
    run: Callable[[GateRun], StageOutcome]
    in_report: bool = True
    """False for the one that writes the report: it cannot tell its own end."""
