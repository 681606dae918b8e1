"""The latency budgets of `ci/budgets.toml`."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from fencepost.reports.tables.errors import ReportError

BUDGETS = Path(__file__).resolve().parents[2] / "ci" / "budgets.toml"
OWN_BUDGETS = "budgets.toml"
"""In the folder of a run that has budgets of its own."""

PHASES = (
    "detected",
    "decided",
    "published",
    "told",
    "leading",
    "first_acknowledged",
    "total",
)
"""In the order in which a failover passes through them; `total` spans them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """Limits in milliseconds for the slowest failover of a run."""

    limits_ms: Mapping[str, float]
    """Phase -> limit."""
    of: Mapping[str, Mapping[str, float]]
    """Fault kind -> the limits that differ for it."""

    def limit_ms(self, fault: str, phase: str) -> float:
        """The limit of `phase` after a fault of this kind."""
        return self.of.get(fault, {}).get(phase, self.limits_ms[phase])


def budgets_of(run: Path) -> Budgets:
    """Those that the run has in its folder, else the usual ones; raises `ReportError`."""
    own = run / OWN_BUDGETS
    return load_budgets(own if own.is_file() else BUDGETS)


def load_budgets(path: Path = BUDGETS) -> Budgets:
    """Read the budgets; raises `ReportError` naming what is missing or unknown."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))["failover"]
        of = {kind: _limits(limits) for kind, limits in table.pop("of", {}).items()}
        limits = _limits(table, needed=PHASES)
    except (OSError, KeyError, ValueError, AttributeError, msgspec.ValidationError) as error:
        hint = f"give each of {', '.join(PHASES)} a limit in ms"
        raise ReportError(f"{path.name} {_why(error)}", hint) from error
    return Budgets(limits_ms=limits, of=of)


def _why(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"has no table [{error.args[0]}]"
    said = error.strerror if isinstance(error, OSError) else str(error)
    return f"cannot be read: {said}"


def _limits(table: object, needed: Sequence[str] = ()) -> dict[str, float]:
    """Phase -> limit; raises `ValueError`."""
    limits = msgspec.convert(table, dict[str, Annotated[float, msgspec.Meta(gt=0)]])
    if unknown := sorted(limits.keys() - {f"{phase}_ms" for phase in PHASES}):
        raise ValueError(f"[failover] has {unknown[0]}, which is no phase")
    if missing := [phase for phase in needed if f"{phase}_ms" not in limits]:
        raise ValueError(f"[failover] lacks {missing[0]}_ms")
    return {name.removesuffix("_ms"): limit for name, limit in limits.items()}
