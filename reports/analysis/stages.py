"""What the stages before the analysis left in `stages.json`, as values."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from fencepost.conformance.verdict import Verdict
from fencepost.reports.tables.errors import ReportError

STAGES = "stages.json"
ANALYSE = "analyse"
"""The stage that always takes its verdict from the aggregates: they may be newer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedAction:
    """An action of a model that TLC simulates, and in how many behaviours it was taken."""

    module: str
    action: str
    behaviours: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRow:
    """One model that TLC checked: what was expected of it and what it found."""

    name: str
    verdict: str
    expected: str
    agrees: bool
    module: str = ""
    violated: str | None = None
    distinct: int | None = None
    generated: int | None = None
    seconds: float | None = None
    why: str | None = None
    shows: str | None = None
    cached: bool = False
    """Found by an earlier run for the same modules, configuration and TLC."""
    simulation: str = ""
    """How many random behaviours, in place of all states."""
    taken: tuple[SimulatedAction, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofRow:
    """A clause of an invariant after an action, for any size."""

    module: str
    clause: str
    action: str
    answer: str
    """`proved`, `untouched` (the action leaves it as it is), `countermodel` or `unknown`."""
    is_property: bool = True
    """False for a clause that the proof of a property needs."""
    cached: bool = False
    """Found by an earlier run of the same proof."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofHazardRow:
    """A wrong rule in a proof, and the clause that it breaks."""

    module: str
    hazard: str
    rule: str
    shown: bool
    clause: str | None = None
    action: str | None = None
    is_property: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedViolation:
    """A seed of the simulator that broke an invariant of the implementation under test."""

    seed: int
    invariant: str
    message: str
    reproduce: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MutantRow:
    """A deliberately wrong rule, and whether a check caught it."""

    mutant: str
    caught: bool
    rule: str = ""
    requirement: str = ""
    caught_by: str | list[str] | None = None
    seed: int | None = None
    seeds_tried: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UndecidedRow:
    """A function of the core with rules that decide nothing in any seed of the gate."""

    module: str
    function: str
    rules: int
    nowhere: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EditScore:
    """What share of the edits at random of specs, core or checks is noticed as it should be."""

    title: str
    goal: str
    killed: int
    of: int
    wanted: float
    drawn: str
    """The options of the draw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRow:
    """One chaos scenario on real processes."""

    name: str
    verdict: Verdict
    seed: int | None = None
    faults: int | list[Any] | None = None
    acknowledged: int | None = None
    floors: str = ""
    """The least counts acknowledged before, during and after a fault."""
    indefinite: int | None = None
    unsettled: int | None = None
    """Of these, how many have no known outcome at the end."""
    noise: str = ""
    """What the host did meanwhile."""
    reproduce: str = ""
    known: str = ""
    """Why it is known to end so; its stage is not failed by it."""
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """What a stage tells beyond its verdict; each stage fills its own part."""

    models: tuple[ModelRow, ...] = ()
    proofs: tuple[ProofRow, ...] = ()
    proof_hazards: tuple[ProofHazardRow, ...] = ()
    seeds: int | list[int] | None = None
    level: int | None = None
    violations: tuple[SimulatedViolation, ...] = ()
    mutants: tuple[MutantRow, ...] = ()
    undecided: tuple[UndecidedRow, ...] = ()
    edit_scores: tuple[EditScore, ...] = ()
    scenarios: tuple[ScenarioRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StageEntry:
    """One stage of the gate."""

    stage: str
    verdict: Verdict
    seconds: float | None = None
    summary: str = ""
    figures: dict[str, Any] = field(default_factory=dict)
    detail: Detail = field(default_factory=Detail)


def load_stages(run: Path) -> tuple[StageEntry, ...]:
    """The stages in the order in which they ran; none when the file is absent.

    Raises `ReportError` when the file is not what it should be.
    """
    try:
        text = (run / STAGES).read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise ReportError(f"{run / STAGES} cannot be read", "check its permissions") from error
    try:
        return msgspec.json.decode(text, type=tuple[StageEntry, ...])
    except msgspec.MsgspecError as error:
        raise ReportError(
            f"{run / STAGES} is not what a gate leaves ({error})", "run the gate again"
        ) from error
