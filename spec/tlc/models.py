"""The models of `spec/models.toml`: what TLC is to check and what it must find."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import msgspec

from fencepost.spec.tlc import possible
from fencepost.spec.tlc.config import (
    ConfigError,
    ConstantValue,
    ModelConfig,
    check_constants,
    read_config,
    tla_value,
)
from fencepost.spec.tlc.mutants import MUTANTS, Mutated, SpecMutantError, mutants_of, mutated
from fencepost.spec.tlc.simulation import Simulation, on_top_of, simulated

SPEC = Path(__file__).resolve().parents[1]
MODELS = SPEC / "models.toml"
MODULES = SPEC / "tla"


HEAP_MB = 1024
"""Fingerprints and queue go to disk beyond it; two runs fit beside everything else."""


class ModelError(ValueError):
    """A model that is unknown or badly described; the message is one sentence."""


class Tier(StrEnum):
    """When a model is checked; each tier includes the ones before it."""

    QUICK = "quick"
    PULL_REQUEST = "pull_request"
    NIGHTLY = "nightly"


class ModelVerdict(StrEnum):
    """How a run of TLC ended."""

    HOLDS = "holds"
    """Every reachable state was visited and everything held."""
    NOT_VIOLATED = "not_violated"
    """Everything held in the random behaviours of a simulation: says nothing of the others."""
    VIOLATES = "violates"
    NOT_REACHED = "not_reached"
    """Everything held, but no state is one of those that must be possible."""
    NOT_EXHAUSTED = "not_exhausted"
    """The time was up: says nothing, and is never a pass."""
    ERROR = "error"
    """TLC could not check: syntax, configuration, evaluation, or no verdict at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One row: bounds, switches, and the result that was measured."""

    name: str
    module: str
    config: str
    constants: Mapping[str, ConstantValue] = field(hash=False)
    """Replace the values in `config`; `mutants` is a list of names."""
    tier: Tier
    expected: ModelVerdict
    invariant: str | None
    """What is violated; None when everything holds."""
    counterexample_states: int | None
    """Length of the shortest counterexample, breadth first with one worker."""
    distinct_states: int
    """0 of a simulation, which does not know."""
    reaches: tuple[str, ...] = ()
    """State predicates, each of which some reachable state satisfies."""
    simulation: Simulation | None = None
    """Random behaviours in place of all states."""
    budget_s: float
    heap_mb: int = HEAP_MB
    hazard: str
    """Id in the list of hazards, or of the requirement that is at stake."""
    shows: str
    directory: Path = MODULES

    @property
    def module_path(self) -> Path:
        """The file of the root module."""
        return self.directory / f"{self.module}.tla"

    @property
    def is_clean(self) -> bool:
        """Whether nothing may be violated, in all states or in those that a simulation visits."""
        return self.expected in {ModelVerdict.HOLDS, ModelVerdict.NOT_VIOLATED}

    @property
    def mutants(self) -> tuple[str, ...]:
        """The names of the rules that the row breaks."""
        names = self.constants.get(MUTANTS, ())
        return tuple(map(str, names)) if isinstance(names, Sequence) else ()

    def has_mutant(self, name: str) -> bool:
        """Whether the row could break this rule."""
        return name in mutants_of(self.module_path)

    @property
    def mutated(self) -> Mutated:
        """The root module with the mutants of the row; raises `ModelError`."""
        try:
            over = mutated(self.module_path, self.mutants)
            over = possible.on_top_of(over, self.reaches) if self.reaches else over
            return over if self.simulation is None else on_top_of(over, self.module_path)
        except (ConfigError, SpecMutantError) as error:
            raise ModelError(f"model {self.name}: {error}") from error

    @property
    def effective_constants(self) -> Mapping[str, str]:
        """What stands after each constant's name, as a cfg has it: `= {"mutant"}`, `<- Bounds`."""
        replaced = {name: f"= {tla_value(value)}" for name, value in self.constants.items()}
        return {**read_config(self.directory / self.config).constants, **replaced}

    def tlc_config(self) -> ModelConfig:
        """What TLC reads; a violation is looked for alone, so that it is the one found.

        Raises `ModelError` when a file is missing, a constant is not exactly the module's, or a
        mutant is not there.
        """
        path = self.directory / self.config
        for file in (path, self.module_path):
            if not file.is_file():
                raise ModelError(f"model {self.name}: there is no file {file.name}")
        try:
            config = self._with_mutants(read_config(path))
            check_constants(config, self.module_path)
            possible.check_predicates(self.reaches, self.module_path)
            config = possible.telling(config) if self.reaches else config
            config = config if self.simulation is None else simulated(config)
            return config.checking_only(self.invariant) if self.invariant else config
        except ConfigError as error:
            raise ModelError(f"model {self.name}: {error}") from error

    def _with_mutants(self, config: ModelConfig) -> ModelConfig:
        """The constants of the row, and what its mutants replace."""
        constants = {name: value for name, value in self.constants.items() if name != MUTANTS}
        return replace(
            config.with_constants(constants), replaced=self.mutated.replaced, mutants=self.mutants
        )


class _Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    module: str
    config: str
    constants: dict[str, str | int | bool | list[str | int]] = {}
    tier: Tier
    expected: ModelVerdict
    invariant: str | None = None
    counterexample_states: int | None = None
    distinct_states: int = 0
    reaches: tuple[str, ...] = ()
    simulation: Simulation | None = None
    budget_s: float
    heap_mb: Annotated[int, msgspec.Meta(ge=16)] = HEAP_MB
    hazard: str
    shows: str


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    model: list[_Row]


def load_models(path: Path = MODELS, *, directory: Path = MODULES) -> tuple[Model, ...]:
    """All models in file order; raises `ModelError` for a file that is not as described."""
    try:
        rows = msgspec.convert(tomllib.loads(path.read_text()), _File).model
    except (OSError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ModelError(f"{path.name}: {error}") from error
    names = [row.name for row in rows]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ModelError(f"{path.name}: two models are named {repeated[0]}")
    return tuple(_model(row, directory) for row in rows)


def _model(row: _Row, directory: Path) -> Model:
    at_best = ModelVerdict.HOLDS if row.simulation is None else ModelVerdict.NOT_VIOLATED
    if row.expected not in {at_best, ModelVerdict.VIOLATES}:
        raise ModelError(f"model {row.name}: expected is {row.expected}, not {at_best} or violates")
    if (row.distinct_states > 0) == (row.simulation is not None):
        raise ModelError(
            f"model {row.name}: a search has distinct_states, a simulation has states of its own"
        )
    told = row.invariant is not None, row.counterexample_states is not None
    if told != (row.expected is ModelVerdict.VIOLATES,) * 2:
        raise ModelError(
            f"model {row.name}: invariant and counterexample_states go with expected = violates"
        )
    if row.reaches and row.expected is not ModelVerdict.HOLDS:
        raise ModelError(f"model {row.name}: reaches goes with expected = holds, where all is seen")
    fields = {name: getattr(row, name) for name in row.__struct_fields__}
    fields["constants"] = MappingProxyType(row.constants)
    return Model(**fields, directory=directory)


def select(
    models: Iterable[Model], names: Iterable[str] = (), tier: str | None = None
) -> tuple[Model, ...]:
    """The models with these names, or those of a tier, or all; raises `ModelError`."""
    known = {model.name: model for model in models}
    wanted = tuple(dict.fromkeys(names))
    if unknown := [name for name in wanted if name not in known]:
        near = get_close_matches(unknown[0], known)
        meant = f"did you mean {' or '.join(near)}? " if near else ""
        raise ModelError(f"unknown model {unknown[0]}; {meant}fencepost check --list names all")
    chosen = tuple(known[name] for name in wanted) if wanted else tuple(known.values())
    return chosen if tier is None else _of_tier(chosen, tier)


def _of_tier(models: tuple[Model, ...], name: str) -> tuple[Model, ...]:
    tiers = list(Tier)
    if name not in tiers:
        raise ModelError(f"unknown tier {name}; known are {', '.join(tiers)}")
    included = tiers[: tiers.index(Tier(name)) + 1]
    if chosen := tuple(model for model in models if model.tier in included):
        return chosen
    raise ModelError(f"none of the chosen models belongs to tier {name}")
