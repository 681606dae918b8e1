"""What the gate makes of each room's results: verdict, figures and the lists for the report."""

from dataclasses import dataclass, field
from typing import Any

from conformance.verdict import Verdict, worst


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one stage found."""

    verdict: Verdict
    summary: str = ""
    """One line for people."""
    figures: dict[str, Any] = field(default_factory=dict)
    """Flat numbers and words."""
    detail: dict[str, Any] = field(default_factory=dict)
    """Lists of what was tried; their keys are told in `ci/README.md`."""

    def joined(self, other: "Outcome") -> "Outcome":
        """Both in one: the worse verdict, all figures and details."""
        return Outcome(
            verdict=worst((self.verdict, other.verdict)),
            summary="; ".join(part for part in (self.summary, other.summary) if part),
            figures=self.figures | other.figures,
            detail=self.detail | other.detail,
        )
