"""The requirement catalogue: what the protocol demands, and what shows that it is met.

`catalogue/<area>.yaml` holds one list of requirements per area. From a requirement the chain leads
to the TLA+ operators that state it, the checks and tests that judge it, the mutants that break it
and the scenarios that provoke it. `lint` holds both ends of every link together.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import yaml
from msgspec import Meta

CATALOGUE = Path(__file__).resolve().parent
_PLACE = re.compile(r"^(?P<fault>.*) - at `\$\[(?P<entry>\d+)\]\.?(?P<field>.*)`$")
"""How msgspec says where a value is wrong."""

Name = Annotated[str, Meta(pattern=r"^[a-z0-9_-]+$")]
Reason = Annotated[str, Meta(min_length=20, pattern=r"\.$")]


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


class RequirementSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the rule comes from."""

    text: Literal["V3", "EL", "MBE", "FWD", "Q", "+"]
    """The designs of controller, election, max broker epoch, forwarding, mutation quota.

    `+` is what a user expects and no text says.
    """
    section: Annotated[str, Meta(min_length=1)] | None = None

    def __str__(self) -> str:
        return f"{self.text} {self.section}" if self.section else self.text


class SpecifiedIn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Operators of one TLA+ module."""

    module: Annotated[str, Meta(pattern=r"^[A-Z][A-Za-z0-9]*$")]
    names: Annotated[tuple[str, ...], Meta(min_length=1)]


class Requirement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule of the protocol and its links."""

    id: Annotated[str, Meta(pattern=r"^[A-Z]+-[0-9]{3}$")]
    kind: RequirementKind
    title: Annotated[str, Meta(min_length=8, max_length=80)]
    statement: Annotated[str, Meta(pattern=r"^[A-Z0-9`/].*\.$")]
    """One sentence that can be true or false of a run."""
    source: Annotated[tuple[RequirementSource, ...], Meta(min_length=1)]
    level: Annotated[int, Meta(ge=0, le=5)]
    """The first at which it must hold."""
    status: Status
    reading: bool = False
    """True where the text is silent, wrong or contradicts another: the statement is our choice."""
    tla: tuple[SpecifiedIn, ...] = ()
    checks: tuple[str, ...] = ()
    """Values of `Invariant`."""
    tests: tuple[Annotated[str, Meta(pattern="^tests/")], ...] = ()
    """Files or folders, relative to the root of the project."""
    mutants: tuple[Name, ...] = ()
    scenarios: tuple[Name, ...] = ()
    """On real processes."""
    stories: tuple[Name, ...] = ()
    """On the simulator: stories of `tests/stories` and `impl/sim/schedules`."""
    without: Mapping[Literal["tla", "judge", "scenario", "mutant"], Reason] = {}
    """Why it cannot have a part of the chain; sparingly."""
    note: str = ""
    """Says what is missing where the status is partial or planned."""

    @property
    def area(self) -> str:
        """The letters of the id."""
        return self.id.partition("-")[0]


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""By libyaml where it is built in: a tenth of the time."""


def load_catalogue(folder: Path = CATALOGUE) -> tuple[Requirement, ...]:
    """All requirements, areas in the order of their file names; raises `CatalogueError`."""
    files = sorted(folder.glob("*.yaml"))
    if not files:
        raise CatalogueError(f"{folder} holds no catalogue: expected one YAML file per area")
    return tuple(requirement for file in files for requirement in _read(file))


def _read(file: Path) -> list[Requirement]:
    try:
        entries = yaml.load(file.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506  safe
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CatalogueError(f"{file.name} is not YAML: {' '.join(str(error).split())}") from error
    try:
        return msgspec.convert(entries, list[Requirement])
    except msgspec.ValidationError as error:
        raise CatalogueError(f"{file.name}, {_place(entries, str(error))}") from error


def _place(entries: object, told: str) -> str:
    """The id of the entry at fault, or its position, the field, and what is wrong."""
    found = _PLACE.match(told)
    if found is None or not isinstance(entries, list):
        return f"top level: {told}"
    number = int(found["entry"])
    entry = entries[number]
    name = entry.get("id") if isinstance(entry, dict) else None
    return f"{name or f'entry {number + 1}'} {found['field']}".rstrip() + f": {found['fault']}"
