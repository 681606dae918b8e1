"""What TLC says of an edited module: the rows that hold are run, then those that are violated.

A row that is violated, by a mutant or an attack, judges too: one that holds has lost its hazard.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic

from fencepost.ci.bench.mutation.edit import Edit
from fencepost.ci.bench.mutation.reasons import NO_REASONS, Reasons
from fencepost.ci.bench.mutation.score import Goal, Scale, Scored
from fencepost.ci.bench.mutation.spec_rows import Row, states_of
from fencepost.ci.bench.mutation.tla.modules import TlaModules
from fencepost.spec.scratch import scratch_folder
from fencepost.spec.tlc.compare import ModelResult
from fencepost.spec.tlc.java.machines import Machines
from fencepost.spec.tlc.java.process import side_by_side
from fencepost.spec.tlc.models import MODULES, Model, ModelVerdict, Tier
from fencepost.spec.tlc.runner import TlcOptions, check_model

PROPERTY = "killed by a property"
POSSIBLE = "killed by a state that must be possible"
HAZARD = "killed by a hazard that is gone"
NIGHTLY = "killed at night"
MORE = "more states, no property"
FEWER = "fewer states, no property"
UNCHANGED = "unchanged"
UNDECIDED = "time is up"
ERROR = "no module: does not parse, or evaluates to an error"
KILLED = (PROPERTY, POSSIBLE, HAZARD, NIGHTLY)
SCALE = Scale(
    title="edits of the specs",
    outcomes=(*KILLED, MORE, FEWER, UNCHANGED, UNDECIDED, ERROR),
    without_count=frozenset({ERROR}),
    goals=(
        Goal(
            outcomes=(PROPERTY, POSSIBLE, HAZARD, NIGHTLY), share=0.95, name="killed by a property"
        ),
    ),
)
EDIT_BUDGET_S = 240.0
"""For the rows of an edit that hold, and again for the others."""
START_S = 30.0
STATES_PER_S = 300
"""What a row may take: a start, and its states at a pace that a busy machine keeps. What a change
lets grow without bound is not searched for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecJudge:
    """Judges edits, each in a folder of its own."""

    modules: TlaModules
    rows: tuple[Row, ...]
    reasons: Reasons = NO_REASONS
    budget_s: float = EDIT_BUDGET_S
    folder: Path = MODULES
    machines: Machines = field(default_factory=Machines)
    kills: Counter[str] = field(default_factory=Counter)
    """Row -> how many edits it has killed: those that killed most are run first."""

    def all(self, edits: Sequence[Edit], jobs: int, add: Callable[[Scored], None]) -> None:
        """What becomes of each is told to `add`, `jobs` at a time."""
        tasks = [partial(self.told, edit, add) for edit in edits]
        with self.machines:
            side_by_side(tasks, workers=jobs, stop=self.machines.stop)

    def told(self, edit: Edit, add: Callable[[Scored], None]) -> None:
        """Judge one, and tell."""
        add(self.one(edit))

    def one(self, edit: Edit) -> Scored:
        """What becomes of an edit; one that is known to be equivalent is not run."""
        started = monotonic()
        text = self.modules.modules[edit.module].text
        diff = edit.diff(text, f"spec/tla/{edit.module}.tla")
        equivalent = self.reasons.of_equivalent(edit)
        outcome, by = ("", "") if equivalent else self.played(edit, text)
        return Scored(
            edit=edit,
            outcome=outcome,
            by=by,
            diff=diff,
            equivalent=equivalent,
            harmless=self.reasons.of_harmless(edit),
            excuse=self.reasons.of_survivor(edit),
            seconds=monotonic() - started,
        )

    def played(self, edit: Edit, text: str) -> tuple[str, str]:
        """Outcome, and by what."""
        rows = [
            row
            for row in self.rows
            if row.depends_on((edit.module, edit.operator))
            and not (row.is_violated and self.only_adds(edit))
        ]
        with scratch_folder("mutation") as directory:
            shutil.copytree(self.folder, directory, dirs_exist_ok=True)
            (directory / f"{edit.module}.tla").write_text(edit.applied_to(text))
            models = [replace(row.model, directory=directory) for row in rows]
            models.sort(key=lambda model: (model.tier is Tier.NIGHTLY, -self.kills[model.name]))
            return self.judged(models)

    def only_adds(self, edit: Edit) -> bool:
        """Whether it is a guard of an action: without it every behaviour is there, violations too.

        Fairness alone may say otherwise, and is not asked.
        """
        is_action = bool(self.modules.assigned[edit.module, edit.operator])
        return edit.kind == "drop_conjunct" and is_action

    def judged(self, models: Sequence[Model]) -> tuple[str, str]:
        """Of rows that are run one after another, until one says otherwise than it should."""
        holding = _Judgement()
        for is_violated in (False, True):
            until = monotonic() + self.budget_s
            for model in models:
                if model.is_clean is is_violated:
                    continue
                left = until - monotonic()
                if left <= 0:
                    holding.undecided.append(f"not run: {model.name} and what comes after")
                    break
                if found := holding.heard(model, self.run(model, left)):
                    self.kills[model.name] += found[0] in KILLED
                    return found
        return holding.conclude()

    def run(self, model: Model, left_s: float) -> ModelResult:
        """One row, within its own budget and what is left of the edit's."""
        wanted = START_S + states_of(model) / STATES_PER_S
        budget_s = min(model.budget_s, left_s, wanted)
        return check_model(
            model, options=TlcOptions(time_budget_s=budget_s), machines=self.machines
        )


@dataclass(slots=True)
class _Judgement:
    """What the rows have said so far."""

    asked: int = 0
    moved: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)

    def heard(self, model: Model, result: ModelResult) -> tuple[str, str] | None:
        """Outcome and why, where this row decides."""
        self.asked += 1
        if result.verdict is ModelVerdict.NOT_EXHAUSTED:
            if model.simulation is None:
                self.undecided.append(model.name)
        elif model.expected is ModelVerdict.VIOLATES:
            return self._of_hazard(model, result)
        elif result.verdict is ModelVerdict.VIOLATES:
            return _killed(PROPERTY, model, f"{result.violated} in {model.name}")
        elif result.verdict is ModelVerdict.NOT_REACHED:
            return _killed(POSSIBLE, model, f"{result.violated} in {model.name}")
        elif result.verdict is ModelVerdict.ERROR:
            return ERROR, f"{model.name}: {result.why}"
        elif model.simulation is None and result.distinct != model.distinct_states:
            more = "more" if result.distinct > model.distinct_states else "fewer"
            self.moved.append(f"{more} in {model.name}")
        return None

    def _of_hazard(self, model: Model, result: ModelResult) -> tuple[str, str] | None:
        """A hazard that is led to by a longer way is no difference that counts."""
        if result.verdict is ModelVerdict.HOLDS:
            told = f"{model.invariant} is not violated any more in {model.name}"
            return _killed(HAZARD, model, told)
        return None

    def conclude(self) -> tuple[str, str]:
        """Outcome and why, where no row has decided."""
        if self.undecided:
            return UNDECIDED, ", ".join(self.undecided)
        if not self.moved:
            return UNCHANGED, f"{self.asked} rows"
        is_more = any(told.startswith("more") for told in self.moved)
        return MORE if is_more else FEWER, ", ".join(self.moved)


def _killed(outcome: str, model: Model, by: str) -> tuple[str, str]:
    return NIGHTLY if model.tier is Tier.NIGHTLY else outcome, by
