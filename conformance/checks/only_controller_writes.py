"""`OnlyControllerWrites`: from level 5 on the controller alone writes what clients ask (FWD-001).

Judged by ZooKeeper's record alone: the session that writes is the one that `/controller` is of. So
are the znodes of topics, and requests below `/admin`, where a broker writes, which the session of a
registration is; what people write there by hand is their own.
Where registrations tell levels, each session is judged by what its broker speaks, any other by the
level at which the run began: while brokers are upgraded to level 5, the others still write what
clients ask them for, but never what another broker has forwarded (FWD-007). A run of a lower level
may say that it is judged by level 5 (`judged_level`): so the attack is shown that this one stops.
"""

import json
from collections.abc import Mapping, Sequence

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.ordering import by_zxid
from fencepost.conformance.checks.spoken_protocols import spoken_protocols
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.config_store import CONFIG_CHANGES, entity_at
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, Invariant, ProtocolLevel
from fencepost.spec.znodes import BROKER_IDS, CONTROLLER, REQUEST_PATHS, TOPICS


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge a whole run; the premise counts writes that the controller alone may make."""
    evidence = Evidence(invariant=Invariant.ONLY_CONTROLLER_WRITES)
    told, protocols = _told(events), spoken_protocols(events).by_session
    level, judged = (_level(told, name) for name in ("level", "judged_level"))
    if max(level, judged, *protocols.values()) < ProtocolLevel.CONTROLLER_MUTATIONS:
        return evidence.result()
    forwarded = {
        one.zxid
        for one in events
        if one.action == Action.APPLY_MUTATION and one.forwarded_request is not None
    }

    def is_bound(event: TraceEvent) -> bool:
        speaks = protocols.get(event.session_id or 0, level)
        return max(speaks, judged) >= ProtocolLevel.CONTROLLER_MUTATIONS

    holder: TraceEvent | None = None
    brokers: set[int | None] = set()
    for event in by_zxid(events):
        path, is_created = event.path or "", event.action == "Create"
        if is_created and path.startswith(f"{BROKER_IDS}/"):
            brokers.add(event.session_id)
        is_of_topic = _is_of_topic(path) and event.session_id in brokers
        if path == CONTROLLER and is_created:
            holder = event
        elif holder is not None and _ends(event, holder):
            holder = None
        elif not (is_bound(event) or event.zxid in forwarded):
            continue
        elif is_of_topic or path == CONFIG_CHANGES or entity_at(path) is not None:
            evidence.premise_count += 1
            if holder is None or holder.session_id != event.session_id:
                by = "no session" if holder is None else f"session {holder.session_id}"
                message = f"Session {event.session_id} wrote {path}, and {by} is controller."
                evidence.violated(message, holder, event)
    return evidence.result()


def _is_of_topic(path: str) -> bool:
    """The znode of a topic, or a request about one of its partitions."""
    return path.rpartition("/")[0] == TOPICS or path.startswith(
        tuple(f"{kind}/" for kind in REQUEST_PATHS)
    )


def _ends(event: TraceEvent, holder: TraceEvent) -> bool:
    """The znode of the controller is deleted, or its session is over."""
    is_over = event.action == "CloseSession" and event.session_id == holder.session_id
    return is_over or (event.path == CONTROLLER and event.action == "Delete")


def _told(events: Sequence[TraceEvent]) -> Mapping[str, object]:
    """What the run says of itself."""
    details = (event.detail for event in events if event.action == "RunStarted")
    try:
        told = json.loads(next(details, None) or "{}")
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _level(told: Mapping[str, object], name: str) -> int:
    """A run that does not say it promises nothing."""
    level = told.get(name)
    return level if isinstance(level, int) else 0
