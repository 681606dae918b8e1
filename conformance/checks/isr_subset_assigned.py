"""`IsrSubsetAssigned`: the ISR holds assigned replicas only (REAS-002, REAS-005).

A reader of the assignment would take such a replica for one to delete. Judged after each
transaction of ZooKeeper, for partitions that their topic names.
"""

from collections.abc import Sequence

from fencepost.conformance.checks.assignment_history import transactions
from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Invariant


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge a whole run; the premise counts states and assignments that were compared."""
    evidence = Evidence(invariant=Invariant.ISR_SUBSET_ASSIGNED)
    for held in transactions(events):
        for key in sorted(held.changed & held.states.keys()):
            replicas = held.replicas(key)
            if replicas is None:
                continue
            evidence.premise_count += 1
            state, event = held.states[key]
            strangers = sorted(state.isr - replicas)
            if strangers:
                message = f"{key} has {strangers} in its ISR, and is assigned to {sorted(replicas)}"
                evidence.violated(f"{message}.", event)
    return evidence.result()
