"""The latency budgets of `ci/budgets.toml`."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fencepost.reports.tables.errors import ReportError

BUDGETS = Path(__file__).resolve().parents[2] / "ci" / "budgets.toml"

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


def load_budgets(path: Path = BUDGETS) -> Budgets:
    """Read the budgets; raises `ReportError` naming what is missing or unknown."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))["failover"]
        of = {kind: _limits(limits) for kind, limits in table.get("of", {}).items()}
        limits = _limits({name: value for name, value in table.items() if name != "of"})
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError) as error:
        raise _unusable(path.name, f"it cannot be read ({error})") from error
    except ValueError as error:
        raise _unusable(path.name, str(error)) from error
    missing = [phase for phase in PHASES if phase not in limits]
    if missing:
        raise _unusable(path.name, f"[failover] lacks {missing[0]}_ms")
    return Budgets(limits_ms=limits, of=of)


def _limits(table: Mapping[str, object]) -> dict[str, float]:
    limits = {}
    for name, value in table.items():
        phase = name.removesuffix("_ms")
        if phase not in PHASES:
            raise ValueError(f"[failover] has {name}, which is no phase")
        if not isinstance(value, int | float) or value <= 0:
            raise ValueError(f"{name} must be a number of milliseconds above 0")
        limits[phase] = float(value)
    return limits


def _unusable(name: str, reason: str) -> ReportError:
    return ReportError(f"{name}: {reason}", f"give each of {', '.join(PHASES)} a limit in ms")
