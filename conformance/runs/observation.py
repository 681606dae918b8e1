"""Which checks a run can decide, by the sources that its trace has."""

from collections.abc import Collection, Sequence

from fencepost.conformance.adapters.implementation import TraceSource
from fencepost.conformance.checks.log_history import CLIENT_READS
from fencepost.conformance.checks.registry import CHECKS
from fencepost.conformance.verdict import CheckResult, Verdict
from fencepost.spec.vocabulary import Invariant

REQUIRED = frozenset({Invariant.LINEARIZABLE_LOG, Invariant.ACKNOWLEDGED_DURABLE})
"""Checks that must have had a premise: a run without acknowledged records shows nothing."""

_CLIENTS = CLIENT_READS | {"Produce"}
_ZOOKEEPER = frozenset({"CreateSession", "CloseSession", "Create", "SetData", "Delete"})

WHY_MISSING = {
    TraceSource.BROKERS: "brokers write no trace",
    TraceSource.ZOOKEEPER: "no transaction log of its ZooKeeper can be read",
}


def not_observable(
    checks: Sequence[CheckResult], missing: Collection[TraceSource]
) -> dict[TraceSource, list[CheckResult]]:
    """The checks that were not decided and read lines of a missing source, by that source.

    A check that is required is idle for another reason.
    """
    found: dict[TraceSource, list[CheckResult]] = {}
    for check in checks:
        is_idle = check.verdict is Verdict.VACUOUS and TraceSource.BROKERS in missing
        if check.verdict is not Verdict.INCONCLUSIVE and not is_idle:
            continue
        if check.invariant in REQUIRED and is_idle:
            continue
        lacks = [source for source in sources_of(check.invariant) if source in missing]
        if lacks:
            found.setdefault(lacks[0], []).append(check)
    return found


def sources_of(invariant: Invariant) -> tuple[TraceSource, ...]:
    """Where the lines come from that the check reads, besides those of clients."""
    reads = CHECKS[invariant].reads
    zookeeper = (TraceSource.ZOOKEEPER,) if reads & _ZOOKEEPER else ()
    return (TraceSource.BROKERS, *zookeeper) if reads - _CLIENTS - _ZOOKEEPER else zookeeper
