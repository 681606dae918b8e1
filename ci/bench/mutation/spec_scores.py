"""What TLC says of an edited module: the rows that hold are run, the cheap ones first."""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic

from fencepost.ci.bench.mutation.edit import Edit
from fencepost.ci.bench.mutation.reasons import NO_REASONS, Reasons
from fencepost.ci.bench.mutation.score import Goal, Scale, Scored, tell
from fencepost.ci.bench.mutation.tla.modules import Definition, TlaModules
from fencepost.ci.bench.mutation.tla.tla_edits import reached
from fencepost.spec.scratch import scratch_folder
from fencepost.spec.tlc.compare import ModelResult
from fencepost.spec.tlc.config import read_config
from fencepost.spec.tlc.java.installation import find_tlc
from fencepost.spec.tlc.java.process import StopSignal, side_by_side
from fencepost.spec.tlc.java.startup import make_class_archive
from fencepost.spec.tlc.models import MODULES, Model, ModelVerdict, Tier
from fencepost.spec.tlc.runner import TlcOptions, check_model

PROPERTY = "killed by a property"
NIGHTLY = "killed by a property at night"
MORE = "more states, no property"
FEWER = "fewer states, no property"
UNCHANGED = "unchanged"
UNDECIDED = "time is up"
ERROR = "no module: does not parse, or evaluates to an error"
SCALE = Scale(
    title="edits of the specs",
    outcomes=(PROPERTY, NIGHTLY, MORE, FEWER, UNCHANGED, UNDECIDED, ERROR),
    without_count=frozenset({ERROR}),
    goals=(Goal(outcomes=(PROPERTY, NIGHTLY), share=0.95, name="killed by a property"),),
)
EDIT_BUDGET_S = 240.0
"""For all rows of an edit; what a change lets grow without bound is not searched for ever."""
SUFFIXES = ("*.tla", "*.cfg")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of models.toml that holds, and the definitions on which it depends."""

    model: Model
    reached: frozenset[Definition]

    @property
    def effort(self) -> tuple[bool, bool, int]:
        """Sorts the cheap ones first: nightly last, liveness behind safety, by states."""
        properties = read_config(self.model.directory / self.model.config).specification
        return self.model.tier is Tier.NIGHTLY, bool(properties), self.model.distinct_states


def rows_of(modules: TlaModules, models: Iterable[Model]) -> tuple[Row, ...]:
    """The rows of the protocol that hold, the cheap ones first; none that has a mutant."""
    rows = [
        Row(model=model, reached=reached(modules, roots_of(modules, model)))
        for model in models
        if model.expected is ModelVerdict.HOLDS and not model.mutants
    ]
    return tuple(sorted(rows, key=lambda row: (*row.effort, row.model.name)))


def roots_of(modules: TlaModules, model: Model) -> tuple[Definition, ...]:
    """The next-state relation of a row: of its `NEXT`, or of `[][…]_…` in its `SPECIFICATION`."""
    config = read_config(model.directory / model.config)
    if not config.specification:
        found = modules.resolve(model.module, config.next)
        return () if found is None else (found,)
    specification = modules.resolve(model.module, config.specification)
    if specification is None:
        return ()
    boxes = [box.parts[0] for box in modules.body(specification).walk() if box.symbol == "]_"]
    inner = [part for box in boxes for part in box.walk()]
    return tuple(sorted(modules.named_in(specification[0], inner)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecJudge:
    """Judges edits, each in a folder of its own."""

    modules: TlaModules
    rows: tuple[Row, ...]
    reasons: Reasons = NO_REASONS
    budget_s: float = EDIT_BUDGET_S
    folder: Path = MODULES
    stop: StopSignal = field(default_factory=StopSignal)

    def all(self, edits: Sequence[Edit], jobs: int) -> tuple[Scored, ...]:
        """What becomes of each, `jobs` at a time."""
        tlc = find_tlc()
        make_class_archive(tlc.java, tlc.jar, self.stop)
        tasks = [partial(self.one, edit) for edit in edits]
        return tuple(side_by_side(tasks, workers=jobs, stop=self.stop))

    def one(self, edit: Edit) -> Scored:
        """What becomes of an edit; one that is known to be equivalent is not run."""
        started = monotonic()
        text = self.modules.modules[edit.module].text
        diff = edit.diff(text, f"spec/tla/{edit.module}.tla")
        equivalent = self.reasons.of_equivalent(edit)
        outcome, by = ("", "") if equivalent else self.played(edit, text)
        scored = Scored(
            edit=edit,
            outcome=outcome,
            by=by,
            diff=diff,
            equivalent=equivalent,
            excuse=self.reasons.of_survivor(edit),
            seconds=monotonic() - started,
        )
        tell(scored)
        return scored

    def played(self, edit: Edit, text: str) -> tuple[str, str]:
        """Outcome, and by what."""
        rows = [row for row in self.rows if (edit.module, edit.operator) in row.reached]
        with scratch_folder("mutation") as directory:
            for suffix in SUFFIXES:
                for path in self.folder.glob(suffix):
                    shutil.copyfile(path, directory / path.name)
            (directory / f"{edit.module}.tla").write_text(edit.applied_to(text))
            return self.judged([row.model for row in rows], directory)

    def judged(self, models: Sequence[Model], directory: Path) -> tuple[str, str]:
        """Of rows that are run one after another, until one violates a property."""
        until = monotonic() + self.budget_s
        moved: list[str] = []
        undecided: list[str] = []
        for model in models:
            left = until - monotonic()
            if left <= 0:
                return UNDECIDED, f"not run: {model.name} and what comes after"
            result = self.run(replace(model, directory=directory), left)
            if result.verdict is ModelVerdict.VIOLATES:
                at_night = model.tier is Tier.NIGHTLY
                return NIGHTLY if at_night else PROPERTY, f"{result.violated} in {model.name}"
            if result.verdict is ModelVerdict.ERROR:
                return ERROR, f"{model.name}: {result.why}"
            if result.verdict is ModelVerdict.NOT_EXHAUSTED:
                undecided.append(model.name)
            elif result.distinct != model.distinct_states:
                more = "more" if result.distinct > model.distinct_states else "fewer"
                moved.append(f"{more} in {model.name}")
        if undecided:
            return UNDECIDED, ", ".join(undecided)
        if not moved:
            return UNCHANGED, f"{len(models)} rows"
        return MORE if any(told.startswith("more") for told in moved) else FEWER, ", ".join(moved)

    def run(self, model: Model, left_s: float) -> ModelResult:
        """One row, within its own budget and what is left of the edit's."""
        budget_s = min(model.budget_s, left_s)
        return check_model(model, stop=self.stop, options=TlcOptions(time_budget_s=budget_s))
