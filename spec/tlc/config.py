"""TLC's configuration file as a value, and the CONSTANTS that a module declares.

TLC ignores a constant that the module does not have, without a word. So we compare ourselves.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fencepost.spec.tlc.modules import (
    declared_constants,
    defined_operators,
    modules_extended,
    owner_of_constant,
)

_KEYWORDS = {
    "CONSTANT": "constants",
    "CONSTANTS": "constants",
    "INIT": "init",
    "NEXT": "next",
    "INVARIANT": "invariants",
    "INVARIANTS": "invariants",
    "PROPERTY": "properties",
    "PROPERTIES": "properties",
    "SPECIFICATION": "specification",
    "CONSTRAINT": "constraints",
    "CONSTRAINTS": "constraints",
    "ACTION_CONSTRAINT": "action_constraints",
    "ACTION_CONSTRAINTS": "action_constraints",
    "SYMMETRY": "symmetry",
    "VIEW": "view",
}
_NAMES = ("invariants", "properties", "constraints", "action_constraints", "specification")
_COMMENT = re.compile(r"\\\*[^\n]*|\(\*.*?\*\)", re.DOTALL)
_ASSIGNMENT = re.compile(r"(\w+)\s*(=|<-)\s*(.+)")

ConstantValue = str | int | bool | Sequence[str | int]


class ConfigError(ValueError):
    """A configuration that TLC would misread; the message is one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """What a run of TLC is told: one assignment per constant, and what to check."""

    constants: Mapping[str, str]
    """Name -> the operator and text of its value, for example `= {1, 2}` or `<- Bounds`."""
    replaced: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Operator -> `<-` and what mutants put in its place."""
    mutants: tuple[str, ...] = ()
    """The rules that are broken on purpose."""
    init: str = "Init"
    next: str = "Next"
    specification: str = ""
    """A formula with fairness, in place of `init` and `next`: what liveness needs."""
    invariants: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    """Checked like invariants and always true: they say what is reached, and judge nothing."""
    constraints: tuple[str, ...] = ()
    action_constraints: tuple[str, ...] = ()
    symmetry: str = ""
    view: str = ""
    places: Mapping[str, str] = field(default_factory=dict, compare=False, hash=False)
    """Constant or name to check -> file and line where it stands."""

    def with_constants(self, values: Mapping[str, ConstantValue]) -> "ModelConfig":
        """The same with some constants replaced; raises `ConfigError` for a name it lacks."""
        unknown = sorted(set(values) - set(self.constants))
        if unknown:
            raise ConfigError(
                f"constant {unknown[0]} is not in the configuration, which has "
                f"{', '.join(sorted(self.constants))}"
            )
        replaced = {name: f"= {tla_value(value)}" for name, value in values.items()}
        return replace(self, constants={**self.constants, **replaced})

    def checking_only(self, name: str) -> "ModelConfig":
        """The same with one thing to check: the property `name`, else the invariant `name`."""
        if name in self.properties:
            return replace(self, invariants=(), properties=(name,))
        return replace(self, invariants=(name,), properties=())

    def render(self) -> str:
        """The text that TLC reads."""
        lines = ["CONSTANTS"]
        assigned = {**self.constants, **self.replaced}
        lines += [f"    {name} {value}" for name, value in assigned.items()]
        if self.specification:
            lines.append(f"SPECIFICATION {self.specification}")
        else:
            lines += [f"INIT {self.init}", f"NEXT {self.next}"]
        lines += [f"INVARIANT {name}" for name in (*self.invariants, *self.reports)]
        lines += [f"PROPERTY {name}" for name in self.properties]
        lines += [f"CONSTRAINT {name}" for name in self.constraints]
        lines += [f"ACTION_CONSTRAINT {name}" for name in self.action_constraints]
        lines += [f"SYMMETRY {self.symmetry}"] if self.symmetry else []
        lines += [f"VIEW {self.view}"] if self.view else []
        return "\n".join(lines) + "\n"


def tla_value(value: ConstantValue) -> str:
    """A value of TOML as TLA+: text is a string, a list is a set."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return f'"{value}"'
    return "{" + ", ".join(tla_value(item) for item in value) + "}"


def read_config(path: Path) -> ModelConfig:
    """Read a `.cfg`: keywords, one assignment per line, comments; raises `ConfigError`."""
    found: dict[str, list[_Line]] = {kind: [] for kind in _KEYWORDS.values()}
    kind = ""
    for number, line in enumerate(_without_comments(path.read_text()).splitlines(), start=1):
        word, _, rest = line.strip().partition(" ")
        kind = _KEYWORDS.get(word, kind)
        told = rest.strip() if word in _KEYWORDS else line.strip()
        place = f"{path.name}, line {number}"
        if told and not kind:
            raise ConfigError(f"{place}: {told!r} comes before any keyword")
        if told:
            found[kind].append(_Line(place, told))
    constants, places = _assignments(found["constants"])
    for kind in _NAMES:
        places |= {name: line.place for line in found[kind] for name in line.text.split()}
    return ModelConfig(
        constants=constants,
        places=places,
        init=_text(found["init"]) or "Init",
        next=_text(found["next"]) or "Next",
        specification=_text(found["specification"]),
        invariants=_names(found["invariants"]),
        properties=_names(found["properties"]),
        constraints=_names(found["constraints"]),
        action_constraints=_names(found["action_constraints"]),
        symmetry=_text(found["symmetry"]),
        view=_text(found["view"]),
    )


@dataclass(frozen=True, slots=True)
class _Line:
    place: str
    text: str


def _without_comments(text: str) -> str:
    """The same lines, so that their numbers stay."""
    return _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)


def _text(lines: list[_Line]) -> str:
    return " ".join(line.text for line in lines)


def _names(lines: list[_Line]) -> tuple[str, ...]:
    return tuple(_text(lines).split())


def _assignments(lines: list[_Line]) -> tuple[dict[str, str], dict[str, str]]:
    constants: dict[str, str] = {}
    places: dict[str, str] = {}
    for line in lines:
        match = _ASSIGNMENT.fullmatch(line.text)
        if match is None:
            raise ConfigError(f"{line.place}: {line.text!r} assigns no constant")
        if match[1] in constants:
            raise ConfigError(
                f"{line.place}: constant {match[1]} is assigned twice, first in {places[match[1]]}"
            )
        constants[match[1]] = f"{match[2]} {match[3]}"
        places[match[1]] = line.place
    return constants, places


def check_constants(config: ModelConfig, module: Path) -> None:
    """Raise `ConfigError` unless exactly the constants of `module` have values.

    One operator may stand for another besides: `IsOwn <- IsOwnMixed`.
    """
    declared = declared_constants(module)
    defined = frozenset[str]().union(*map(defined_operators, modules_extended(module)))
    given = frozenset(
        name
        for name, value in config.constants.items()
        if name not in defined or value.removeprefix("<- ") not in defined
    )
    if extra := sorted(given - declared):
        raise ConfigError(_not_declared(extra[0], config, module))
    if missing := sorted(declared - given):
        owner = owner_of_constant(missing[0], module)
        raise ConfigError(f"constant {missing[0]} of module {owner} has no value")


def _not_declared(name: str, config: ModelConfig, module: Path) -> str:
    place = f"{config.places[name]}: " if name in config.places else ""
    owner = owner_of_constant(name, module)
    why = f"; that of {owner} gets its value from the INSTANCE" if owner else ""
    return f"{place}module {module.stem} has no constant {name}{why}; TLC would ignore it"
