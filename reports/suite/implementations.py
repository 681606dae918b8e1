"""What each target of a run declares, side by side: one table with a column for each target."""

from collections.abc import Mapping

from fencepost.conformance.adapters.implementation import Capability
from fencepost.conformance.checks.observations import NEEDS, Fidelity, Observable, lacking, lacks
from fencepost.conformance.suite.records import SuiteRun, TargetRecord
from fencepost.reports.page.words import listing
from fencepost.reports.suite.views import FactGroup, FactRow
from fencepost.spec.vocabulary import ErrorCode

YES, NO, UNKNOWN = "yes", "—", "not begun"
TOLD_ERRORS = 8
"""So many error codes are named; of more, those are that are missing."""


def fact_groups(run: SuiteRun) -> tuple[FactGroup, ...]:
    """All rows; none for a run in which no target was begun."""
    found = {one.target: _facts(one) for one in run.targets}
    first = next(iter(found.values()), {})
    return tuple(
        FactGroup(
            title=title,
            rows=tuple(
                FactRow(
                    name=name,
                    cells=tuple(
                        found[one][title][name] if one in found else UNKNOWN
                        for one in run.header.targets
                    ),
                )
                for name in names
            ),
        )
        for title, names in first.items()
    )


def _facts(one: TargetRecord) -> Mapping[str, Mapping[str, str]]:
    """By group and row."""
    seen = {kind: Fidelity(one.observes.get(kind, Fidelity.NONE)) for kind in Observable}
    missing = {check: lacks(check, seen) for check in sorted(NEEDS)}
    return {
        "protocol": {
            "implementation": one.name,
            "levels": ", ".join(map(str, one.levels)),
            "requests": one.wire,
            "znodes": f"as {one.znodes}" if one.znodes else "its state is in no ZooKeeper",
            "a produce appended nothing after": _errors(one),
        },
        "capabilities": {
            name.replace("_", " "): YES if name in one.capabilities else NO
            for name in sorted(Capability)
        },
        "observed events": {kind.replace("_", " "): fidelity for kind, fidelity in seen.items()},
        "checks": {
            check: f"needs {lacking(check, lack)}" if lack else "decided"
            for check, lack in missing.items()
        },
        "judged otherwise than the spec": {
            "dialect": one.dialect,
            "differs": "; ".join(one.differences) or NO,
        },
    }


def _errors(one: TargetRecord) -> str:
    if len(one.definite_errors) <= TOLD_ERRORS:
        return listing(list(one.definite_errors))
    others = set(map(str, ErrorCode)) - {ErrorCode.NONE} - set(one.definite_errors)
    return f"any error of the spec but {listing(sorted(others))}"
