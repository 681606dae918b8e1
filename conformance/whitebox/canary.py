"""A deliberately wrong rule on real processes, which a gate must find before its green counts.

A harness with faults that do nothing, clients that trace nothing or checks that look away is as
green as one that works. Nothing but a known defect tells the two apart.
"""

from dataclasses import dataclass
from pathlib import Path

from fencepost.conformance.adapters.choices import EMBEDDED
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.scenario import ScenarioResult
from fencepost.conformance.runs.scenario_run import run
from fencepost.conformance.scenarios import find
from fencepost.conformance.verdict import Verdict
from fencepost.conformance.whitebox.mutants import breaking
from fencepost.conformance.whitebox.simulate import Subject

MUTANT = "acknowledge_before_replication"
"""The defect that costs records: told as safe what one broker alone has."""
SCENARIO = "unreplicated_record"
"""Its steps lead to the loss every time; nothing is left to luck."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Canary:
    """What became of the wrong rule."""

    mutant: str
    caught_by: frozenset[str]
    """The checks of which one must see it."""
    result: ScenarioResult

    @property
    def seen_by(self) -> tuple[str, ...]:
        """The checks of `caught_by` that are violated, ascending."""
        return tuple(sorted(self.result.violated & self.caught_by))

    @property
    def is_found(self) -> bool:
        """A check that must see it did."""
        return bool(self.seen_by) and self.result.verdict is Verdict.FAIL

    @property
    def verdict(self) -> Verdict:
        """`PASS` when it was found; else the checks cannot be believed, or it was not played."""
        if self.is_found:
            return Verdict.PASS
        return Verdict.ERROR if self.result.verdict is Verdict.ERROR else Verdict.FAIL

    @property
    def sentence(self) -> str:
        """What a person is told."""
        if self.is_found:
            where = f"{self.result.seconds:.0f} s"
            return f"mutant {self.mutant} was found by {', '.join(self.seen_by)} in {where}"
        why = self.result.why or "every check passed"
        return (
            f"mutant {self.mutant} ran on real processes and was not found ({why}), "
            "so what else passed here shows nothing"
        )


def play_canary(
    *,
    level: int,
    seed: int,
    out: Path,
    zookeeper: str = EMBEDDED,
    mutant: str = MUTANT,
    scenario: str = SCENARIO,
) -> Canary:
    """Run the scenario in the new folder `out` on brokers that break the rule.

    `level` is the newest that the implementation has: a mutant breaks a rule of that one. Raises
    `UsageError` when the folder is there already.
    """
    settings = ClusterSettings(implementation=breaking(mutant), level=level, zookeeper=zookeeper)
    subject = Subject(level=level, mutant=mutant)
    subject.require_known()
    result = run(
        find(scenario),
        settings=settings,
        seed=seed,
        folder=out,
    )
    return Canary(mutant=mutant, caught_by=frozenset(subject.expected()), result=result)
