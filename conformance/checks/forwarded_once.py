"""`ForwardedOnce`: a request is forwarded by one broker, and takes effect once (FWD-003, FWD-004).

A request has a name from the first broker that forwards it, and keeps it wherever it goes. It is
done once to each znode, topic or partition that it names.
"""

from collections import defaultdict
from collections.abc import Sequence

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.ordering import order, partition_of_event
from fencepost.conformance.checks.principal_kept import DONE
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, Invariant

JUDGED = DONE | {Action.FORWARD_REQUEST}


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge a whole run; the premise counts requests that were forwarded."""
    evidence = Evidence(invariant=Invariant.FORWARDED_ONCE)
    lines: dict[tuple[str, str, str], list[TraceEvent]] = defaultdict(list)
    for event in order(events):
        if event.forwarded_request is not None and event.action in JUDGED:
            what = str(event.path or partition_of_event(event) or event.topic or "")
            lines[event.forwarded_request, event.action, what].append(event)
    for (request, action, what), found in lines.items():
        if action == Action.FORWARD_REQUEST:
            evidence.premise_count += 1
        if len(found) > 1:
            done = "forwarded" if action == Action.FORWARD_REQUEST else f"done to {what}"
            by = ", ".join(str(one.broker_id) for one in found)
            evidence.violated(f"Request {request} was {done} by brokers {by}.", *found)
    return evidence.result()
