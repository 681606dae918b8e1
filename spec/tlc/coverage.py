"""Which actions the models that hold take: an action that none takes is modelled in vain."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fencepost.spec.tlc.java.output import TlcFinding
from fencepost.spec.tlc.models import Model, ModelVerdict
from fencepost.spec.tlc.runner import OnProgress, TlcOptions, findings

COVERAGE = ("-coverage", "60")
"""Counted always; printed at the end, and every 60 minutes before."""

Action = tuple[str, str]
"""Module and name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCoverage:
    """Per action the rows in which it is taken, and the rows that told nothing."""

    rows: Mapping[Action, frozenset[str]]
    undecided: Mapping[str, str]
    """Model -> why it has no coverage."""

    def dead(self) -> list[Action]:
        """Actions that are taken in no row, sorted."""
        return sorted(action for action, names in self.rows.items() if not names)


def measure(
    models: Iterable[Model],
    *,
    options: TlcOptions,
    workers: int = 2,
    on_progress: OnProgress | None = None,
) -> ModelCoverage:
    """The coverage of those of `models` that violate nothing."""
    holding = [model for model in models if model.is_clean]
    asked = replace(options, tlc_options=COVERAGE)
    found = findings(holding, workers=workers, on_progress=on_progress, options=asked)
    return joined(holding, found)


def joined(models: Sequence[Model], found: Sequence[TlcFinding]) -> ModelCoverage:
    """What single findings say together."""
    rows: dict[Action, frozenset[str]] = {}
    undecided: dict[str, str] = {}
    for model, finding in zip(models, found, strict=True):
        if finding.verdict not in {ModelVerdict.HOLDS, ModelVerdict.NOT_VIOLATED}:
            undecided[model.name] = finding.error or f"ended as {finding.verdict}"
        for action, steps in finding.taken.items():
            names = {model.name} if steps else set()
            rows[action] = rows.get(action, frozenset()) | names
    return ModelCoverage(rows=rows, undecided=undecided)
