"""The requirement catalogue: what the protocol demands, and what shows that it is met.

`catalogue/<area>.yaml` holds one list of requirements per area, in the form of
`catalogue/schema.json`. From a requirement the chain leads to the TLA+ operators that state it,
the checks and tests that judge it, the mutants that break it and the scenarios that provoke it.
`lint` (module `catalogue_lint`) holds both ends of every link together.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import cast

import jsonschema
import yaml

CATALOGUE = Path(__file__).resolve().parent
SCHEMA = CATALOGUE / "schema.json"


class CatalogueError(ValueError):
    """A catalogue file that cannot be read; says which and where."""


class RequirementKind(StrEnum):
    """What sort of promise a requirement is."""

    SAFETY = "safety"
    LIVENESS = "liveness"
    INTERFACE = "interface"
    PERFORMANCE = "performance"


class Status(StrEnum):
    """How far a requirement is judged today."""

    COVERED = "covered"
    PARTIAL = "partial"
    PLANNED = "planned"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementSource:
    """Where the rule comes from."""

    text: str
    """V3, EL, MBE, FWD, Q, or + for what no text says."""
    section: str | None = None

    def __str__(self) -> str:
        return f"{self.text} {self.section}" if self.section else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One rule of the protocol and its links."""

    id: str
    kind: RequirementKind
    title: str
    statement: str
    source: tuple[RequirementSource, ...]
    level: int
    status: Status
    reading: bool = False
    tla: Mapping[str, tuple[str, ...]]
    """Module -> operators."""
    checks: tuple[str, ...] = ()
    """Values of `Invariant`."""
    tests: tuple[str, ...] = ()
    """Files or folders, relative to the root of the project."""
    mutants: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    """On real processes."""
    stories: tuple[str, ...] = ()
    """On the simulator: text files of `tests/scenarios` and `impl/sim/schedules`."""
    without: Mapping[str, str] = field(default_factory=dict)
    """`tla`, `judge`, `scenario` or `mutant` -> why it cannot have one."""
    note: str = ""

    @property
    def area(self) -> str:
        """The letters of the id."""
        return self.id.partition("-")[0]


def load_catalogue(folder: Path = CATALOGUE) -> tuple[Requirement, ...]:
    """All requirements, areas in the order of their file names; raises `CatalogueError`."""
    files = sorted(folder.glob("*.yaml"))
    if not files:
        raise CatalogueError(f"{folder} holds no catalogue: expected one YAML file per area")
    return tuple(requirement for file in files for requirement in _read(file))


def _read(file: Path) -> Iterator[Requirement]:
    try:
        entries = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CatalogueError(f"{file.name} is not YAML: {' '.join(str(error).split())}") from error
    fault = next(_validator().iter_errors(entries), None)
    if fault is not None:
        raise CatalogueError(f"{file.name}, {_place(entries, fault)}: {fault.message}")
    for entry in cast(list[dict[str, object]], entries):
        yield _requirement(entry)


@cache
def _validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def _place(entries: object, fault: jsonschema.ValidationError) -> str:
    """The id of the entry at fault, or its position, and the field."""
    path = list(fault.absolute_path)
    if not path or not isinstance(entries, list) or not isinstance(path[0], int):
        return "top level"
    entry = entries[path[0]]
    name = entry.get("id", f"entry {path[0] + 1}") if isinstance(entry, dict) else path[0] + 1
    return " ".join([str(name), *map(str, path[1:])])


def _requirement(entry: Mapping[str, object]) -> Requirement:
    """The requirement of an entry that satisfies the schema."""
    lists = {
        name: tuple(cast(list[str], entry.get(name, ())))
        for name in ("checks", "tests", "mutants", "scenarios", "stories")
    }
    modules = cast(list[dict[str, object]], entry.get("tla", []))
    return Requirement(
        id=str(entry["id"]),
        kind=RequirementKind(str(entry["kind"])),
        title=str(entry["title"]),
        statement=str(entry["statement"]),
        source=tuple(
            RequirementSource(**item) for item in cast(list[dict[str, str]], entry["source"])
        ),
        level=cast(int, entry["level"]),
        status=Status(str(entry["status"])),
        reading=bool(entry.get("reading", False)),
        tla={str(item["module"]): tuple(cast(list[str], item["names"])) for item in modules},
        without=cast(dict[str, str], entry.get("without", {})),
        note=str(entry.get("note", "")),
        **lists,
    )
