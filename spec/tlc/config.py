"""TLC's configuration file as a value, and the CONSTANTS that a module declares.

TLC ignores a constant that the module does not have, without a word. So we compare ourselves.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

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
_COMMENT = re.compile(r"\\\*[^\n]*|\(\*.*?\*\)", re.DOTALL)
_LINE_COMMENT = re.compile(r"\\\*[^\n]*")
_ASSIGNMENT = re.compile(r"(\w+)\s*(=|<-)\s*(.+)")

ConstantValue = str | int | bool | Sequence[str | int]


class ConfigError(ValueError):
    """A configuration that TLC would misread; the message is one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What a run of TLC is told: one assignment per constant, and what to check."""

    constants: Mapping[str, str]
    """Name -> the operator and text of its value, for example `= {1, 2}` or `<- Bounds`."""
    init: str = "Init"
    next: str = "Next"
    specification: str = ""
    """A formula with fairness, in place of `init` and `next`: what liveness needs."""
    invariants: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    action_constraints: tuple[str, ...] = ()
    symmetry: str = ""
    view: str = ""

    def with_constants(self, values: Mapping[str, ConstantValue]) -> "Config":
        """The same with some constants replaced; raises `ConfigError` for a name it lacks."""
        unknown = sorted(set(values) - set(self.constants))
        if unknown:
            raise ConfigError(
                f"constant {unknown[0]} is not in the configuration, which has "
                f"{', '.join(sorted(self.constants))}"
            )
        replaced = {name: f"= {tla_value(value)}" for name, value in values.items()}
        return replace(self, constants={**self.constants, **replaced})

    def checking_only(self, name: str) -> "Config":
        """The same with one thing to check: the property `name`, else the invariant `name`."""
        if name in self.properties:
            return replace(self, invariants=(), properties=(name,))
        return replace(self, invariants=(name,), properties=())

    def render(self) -> str:
        """The text that TLC reads."""
        lines = ["CONSTANTS"]
        lines += [f"    {name} {value}" for name, value in self.constants.items()]
        if self.specification:
            lines.append(f"SPECIFICATION {self.specification}")
        else:
            lines += [f"INIT {self.init}", f"NEXT {self.next}"]
        lines += [f"INVARIANT {name}" for name in self.invariants]
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


def read_config(path: Path) -> Config:
    """Read a `.cfg`: keywords, one assignment per line, comments; raises `ConfigError`."""
    found: dict[str, list[str]] = {kind: [] for kind in _KEYWORDS.values()}
    kind = ""
    for line in _LINE_COMMENT.sub("", path.read_text()).splitlines():
        word, _, rest = line.strip().partition(" ")
        kind = _KEYWORDS.get(word, kind)
        told = rest.strip() if word in _KEYWORDS else line.strip()
        if told and not kind:
            raise ConfigError(f"{path.name}: {told!r} comes before any keyword")
        if told:
            found[kind].append(told)
    return Config(
        constants=_assignments(path, found["constants"]),
        init=" ".join(found["init"]) or "Init",
        next=" ".join(found["next"]) or "Next",
        specification=" ".join(found["specification"]),
        invariants=_names(found["invariants"]),
        properties=_names(found["properties"]),
        constraints=_names(found["constraints"]),
        action_constraints=_names(found["action_constraints"]),
        symmetry=" ".join(found["symmetry"]),
        view=" ".join(found["view"]),
    )


def _names(lines: list[str]) -> tuple[str, ...]:
    return tuple(name for line in lines for name in line.split())


def _assignments(path: Path, lines: list[str]) -> dict[str, str]:
    constants: dict[str, str] = {}
    for line in lines:
        match = _ASSIGNMENT.fullmatch(line)
        if match is None:
            raise ConfigError(f"{path.name}: {line!r} assigns no constant")
        if match[1] in constants:
            raise ConfigError(f"{path.name}: constant {match[1]} is assigned twice")
        constants[match[1]] = f"{match[2]} {match[3]}"
    return constants


def declared_constants(module: Path) -> frozenset[str]:
    """The CONSTANTS of a module and of the modules beside it that it extends."""
    text = _COMMENT.sub("", module.read_text())
    own = [name for block in _lists(text, "CONSTANTS?") for name in block]
    parents = [name for block in _lists(text, "EXTENDS") for name in block]
    beside = [module.with_name(f"{parent}.tla") for parent in parents]
    inherited = [declared_constants(path) for path in beside if path.is_file()]
    return frozenset(own).union(*inherited)


def _lists(text: str, keyword: str) -> list[list[str]]:
    blocks = re.findall(rf"^{keyword}\s+(\w+(?:\s*,\s*\w+)*)", text, re.MULTILINE)
    return [re.split(r"\s*,\s*", block) for block in blocks]


def check_constants(config: Config, module: Path) -> None:
    """Raise `ConfigError` unless exactly the constants of `module` have values."""
    declared = declared_constants(module)
    given = frozenset(config.constants)
    if extra := sorted(given - declared):
        raise ConfigError(f"module {module.stem} has no constant {extra[0]}; TLC would ignore it")
    if missing := sorted(declared - given):
        raise ConfigError(f"constant {missing[0]} of module {module.stem} has no value")
