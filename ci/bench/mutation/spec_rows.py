"""The rows of models.toml by which an edit of the specs is judged, and what they depend on."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from fencepost.ci.bench.mutation.tla.modules import Definition, TlaModules
from fencepost.ci.bench.mutation.tla.syntax import read_module
from fencepost.ci.bench.mutation.tla.tla_edits import reached
from fencepost.spec.tlc.config import read_config
from fencepost.spec.tlc.models import Model, Tier
from fencepost.spec.tlc.modules import modules_read
from fencepost.spec.tlc.mutants import Mutated


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of models.toml, and the definitions on which it depends."""

    model: Model
    modules: TlaModules

    @property
    def is_violated(self) -> bool:
        """Whether the row leads to a violation, by a mutant or by an attack."""
        return not self.model.is_clean

    @property
    def effort(self) -> tuple[bool, bool, bool, bool, int, str]:
        """Sorts: nightly last, then rows that hold, all states, safety, and few states first."""
        config = read_config(self.model.directory / self.model.config)
        return (
            self.model.tier is Tier.NIGHTLY,
            self.is_violated,
            self.model.simulation is not None,
            bool(config.specification),
            states_of(self.model),
            self.model.name,
        )

    @cached_property
    def reached(self) -> frozenset[Definition]:
        """What its next-state relation uses; not what its mutants replace."""
        mutated = self.model.mutated
        modules = self._own_modules(mutated)
        return reached(
            modules, _roots_of(modules, self.model), _replacements_of(modules, self.model, mutated)
        )

    def depends_on(self, one: Definition) -> bool:
        """Whether it does, asked without reading more than is needed."""
        stems = {path.stem for path in modules_read(self.model.module_path)}
        return one[0] in stems and one in self.reached

    def _own_modules(self, mutated: Mutated) -> TlaModules:
        """Those of the folder, and the mutants; all of them where there is no mutant."""
        if not mutated.texts:
            return self.modules
        stems = [path.stem for path in modules_read(self.model.module_path)]
        own = {stem: self.modules.modules[stem] for stem in stems}
        for name, text in mutated.texts.items():
            stem = name.removesuffix(".tla")
            own[stem] = read_module(stem, text)
        return TlaModules(own)


def states_of(model: Model) -> int:
    """How many states a row visits, as measured."""
    return model.distinct_states if model.simulation is None else model.simulation.states


def rows_of(modules: TlaModules, models: Iterable[Model]) -> tuple[Row, ...]:
    """The rows that judge, those first that cost least and say most.

    A violation that random behaviours found before is no fact about an edit: they take other ways.
    """
    rows = [Row(model=model, modules=modules) for model in models]
    judging = [row for row in rows if row.model.simulation is None or not row.is_violated]
    return tuple(sorted(judging, key=lambda row: row.effort))


def protocol_of(rows: Iterable[Row]) -> frozenset[Definition]:
    """What the rows that hold reach without mutants: the protocol, which is edited."""
    plain = [row for row in rows if not row.is_violated and not row.model.mutants]
    return frozenset[Definition]().union(*(row.reached for row in plain))


def _roots_of(modules: TlaModules, model: Model) -> tuple[Definition, ...]:
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


def _replacements_of(
    modules: TlaModules, model: Model, mutated: Mutated
) -> dict[Definition, Definition]:
    """Definition -> what a mutant puts in its place."""
    found: dict[Definition, Definition] = {}
    for operator, told in mutated.replaced.items():
        home, _, wrong = told.removeprefix("<- ").rpartition("]")
        before = modules.resolve(home.removeprefix("[") or model.module, operator)
        after = modules.resolve(mutated.root, wrong)
        if before is not None and after is not None:
            found[before] = after
    return found
