"""`InitNamesAll`: the first command to a broker names all its partitions (BEP-007, CMD-007).

It is the request with the INIT flag, and what it does not name, the broker deletes. Its line
(`SendInit`) tells what it names, and a transaction than which the controller's reading of the
topics is not older: what ZooKeeper's own record assigns to the broker then, it has to name. Left
out of this are topics that change later, which may be known too, and those of which a deletion was
begun.
"""

from collections.abc import Iterable, Mapping, Sequence

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.ordering import actions, broker_named, by_zxid
from fencepost.conformance.checks.znode_history import replicas_named
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, Invariant
from fencepost.spec.znodes import TOPICS, TopicPartition

_LISTED_MAX = 3
"""So many partitions are named in a message."""
_Assigned = Mapping[int | None, Sequence[tuple[int, TopicPartition]]]
"""Broker -> its partitions at the end of the run, each with the zxid since which it is so."""


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge a whole run; the premise counts INITs to brokers that have partitions."""
    evidence = Evidence(invariant=Invariant.INIT_NAMES_ALL)
    assigned = _assigned(events)
    for event in actions(events, Action.SEND_INIT):
        if event.partitions is None or event.zxid is None:
            continue
        of_broker = assigned.get(broker_named(event.peer or ""), ())
        wanted = {str(key) for since, key in of_broker if since <= event.zxid}
        evidence.premise_count += bool(wanted)
        missing = sorted(wanted.difference(event.partitions))
        if missing:
            more = f" and {len(missing) - _LISTED_MAX} more" * (len(missing) > _LISTED_MAX)
            evidence.violated(
                f"The INIT to {event.peer} of controller epoch {event.controller_epoch} leaves out"
                f" {', '.join(missing[:_LISTED_MAX])}{more}.",
                event,
            )
    return evidence.result()


def _assigned(events: Iterable[TraceEvent]) -> _Assigned:
    last: dict[str, TraceEvent] = {}
    for event in by_zxid(events):
        parent, _, topic = (event.path or "").rpartition("/")
        if parent == TOPICS:
            last[topic] = event
    found: dict[int | None, list[tuple[int, TopicPartition]]] = {}
    for topic, event in sorted(last.items()):
        for partition, replicas in replicas_named(event).items():
            for broker_id in replicas:
                named = event.zxid or 0, TopicPartition(topic, partition)
                found.setdefault(broker_id, []).append(named)
    return found
