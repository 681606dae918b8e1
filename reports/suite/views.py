"""The page of a run of the suite as plain values, in the order of the template."""

from dataclasses import dataclass

from fencepost.conformance.suite.claims import TargetClaim
from fencepost.conformance.suite.records import Header
from fencepost.conformance.verdict import Verdict
from fencepost.reports.page.views import Broken, Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRow:
    """One target and what may be said of it."""

    name: str
    verdict: Verdict
    claim: TargetClaim
    seconds: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixCell:
    """One requirement, or one case, on one target."""

    verdict: Verdict
    told: str
    """The evidence, in a few words."""
    anchor: str = ""
    """Where the page tells more; empty: nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRow:
    """One row of a matrix."""

    name: str
    title: str
    detail: str
    cells: tuple[MatrixCell, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """A case that is no pass, without a violation to draw."""

    anchor: str
    title: str
    verdict: Verdict
    message: str
    again: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRow:
    """One thing that the targets declare, target by target."""

    name: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactGroup:
    """Rows of one kind."""

    title: str
    rows: tuple[FactRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuitePage:
    """Everything that the template shows."""

    verdict: Verdict
    headline: str
    subline: str
    figures: tuple[Figure, ...]
    doubts: tuple[str, ...]
    targets: tuple[TargetRow, ...]
    broken: tuple[Broken, ...]
    shortfalls: tuple[Shortfall, ...]
    requirements: tuple[CellRow, ...]
    cases: tuple[CellRow, ...]
    facts: tuple[FactGroup, ...]
    header: Header
