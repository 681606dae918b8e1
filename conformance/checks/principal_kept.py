"""`PrincipalKept`: a change is made for the client that asked for it (FWD-005).

Not for the broker that forwarded it, nor for a name that the client claims. Clients set every value
once, so that a value tells which of them has asked. It is forwarded in the name
in which it is made. A topic that a broker creates since a client looks for a coordinator is its own
wish, and created for a broker (FWD-006): `method` tells, as clients may create it themselves.
"""

import re
from collections.abc import Sequence

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.verdict import CheckResult
from fencepost.fault_injection.workload.config_operations import ALTER_CONFIGS
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import FIND_COORDINATOR, Action, Invariant

DONE = frozenset(
    {
        Action.APPLY_MUTATION,
        Action.CREATE_TOPIC,
        Action.DELETE_TOPIC,
        Action.REQUEST_PARTITIONS,
        Action.START_REASSIGNMENT,
        Action.CANCEL_REASSIGNMENT,
    }
)
JUDGED = DONE | {ALTER_CONFIGS, Action.FORWARD_REQUEST}
_BROKER = re.compile(r"User:broker-\d+")


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge a whole run; the premise counts changes by askers that the trace knows."""
    evidence = Evidence(invariant=Invariant.PRINCIPAL_KEPT)
    askers = {
        (event.path, value): event
        for event in events
        if event.action == ALTER_CONFIGS
        for value in event.values or ()
    }
    forwards = {e.forwarded_request: e for e in events if e.action == Action.FORWARD_REQUEST}
    for event in events:
        if event.action not in DONE:
            continue
        what = event.path or event.topic
        forward = forwards.get(event.forwarded_request, event)
        if forward.principal != event.principal:
            evidence.violated(
                f"{what}: it is forwarded for {forward.principal} and done for {event.principal}.",
                forward,
                event,
            )
        creator = event.principal if event.action == Action.CREATE_TOPIC else None
        if creator is not None and forward.method == FIND_COORDINATOR:
            evidence.premise_count += 1
            if not _BROKER.fullmatch(creator):
                evidence.violated(f"{what} is created for {creator}, no broker.", event)
        for one in filter(None, (askers.get((event.path, v)) for v in event.values or ())):
            evidence.premise_count += 1
            if event.principal != f"User:{one.node}":
                message = f"{event.path}: {one.node} asked, and it is done for {event.principal}."
                evidence.violated(message, one, event)
    return evidence.result()
