"""What a node in KRaft mode writes of itself in its log, as lines of our trace.

A registration, an election of its controller, each leader epoch of which it became leader or
follower, and each later state of that epoch, which changes the ISR alone. The session of a
controller is the epoch in which the quorum elected it.

Where a topic was made again, its id in a line tells the incarnation; a line of a follower has none,
and is about the one that was created last before it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from fencepost.conformance.adapters.implementation import RunSite
from fencepost.conformance.adapters.kafka.kraft.state import REGISTERED
from fencepost.conformance.adapters.kafka.leading import Leading, partition_in
from fencepost.conformance.adapters.kafka.observations import (
    ROLES,
    Dated,
    action_line,
    creations,
    isr_of,
    log_lines,
    of_incarnation,
    trace_of,
    unclean_elections,
)
from fencepost.conformance.checks.znode_history import document_of
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action
from fencepost.spec.znodes import TopicPartition, partition_of

_ELECTED = re.compile(r"Becoming the active controller at epoch (\d+)")
_ID = r"with topic id (?:Some\()?(?P<topic_id>[\w-]+)\)?"
_STARTS = (
    rf"(?P<topic>\S+)-(?P<partition>\d+) (?:{_ID} )?starts at leader epoch "
    r"(?P<leader_epoch>\d+) from offset (?P<offset>\d+) with partition epoch (?P<version>\d+)"
)
_LEADS = re.compile(rf"Leader {_STARTS}, high watermark \d+, ISR \[(?P<isr>[\d,]*)\]")
_FOLLOWS = re.compile(
    rf"Follower {_STARTS} and high watermark \d+\. Current leader is (?P<leader>-?\d+)"
)
_LEARNS = re.compile(
    r"Skipped the become-(?P<role>leader|follower) state change for "
    rf"(?P<topic>\S+)-(?P<partition>\d+) {_ID}(?P<state>.*)"
)
_FIELD = re.compile(r"\b(\w+)=(\[[\d, ]*\]|-?\w+)")
"""A field of the state in such a line; their order differs between releases."""


def broker_lines(
    site: RunSite, nodes: Iterable[int], history: Sequence[TraceEvent]
) -> Iterator[TraceEvent]:
    """The trace of every node, in the order of nodes and time; `history` is that of the state."""
    created = creations(history)
    by_id = _created_as(history, created)
    found: dict[int, list[Dated]] = {}
    for node in nodes:
        told = partial(_told, site.run_id, node, by_id, Leading())
        found[node] = list(log_lines(site, node, told))
    elections: list[Dated] = []
    if site.unclean_leader_election:
        elected = [one.event for lines in found.values() for one in lines if one.event]
        elections += unclean_elections(site.run_id, history, elected)
    for node, lines in found.items():
        lines += [one for one in elections if one.event and one.event.broker_id == node]
        named = (of_incarnation(one, created) for one in lines)
        yield from trace_of(site.folder, site.run_id, node, named)


def _created_as(
    history: Iterable[TraceEvent], created: Mapping[TopicPartition, Sequence[object]]
) -> Mapping[tuple[str, int], int]:
    """Id of a topic and number of a partition -> zxid of the creation, where there were several."""
    found = {}
    for line in history:
        key, state = partition_of(line.path or ""), document_of(line)
        if line.action != "Create" or key is None or state is None:
            continue
        if len(created[key]) > 1:
            found[state.topic_id, key.partition] = line.zxid or 0
    return found


def _told(
    run_id: str,
    broker_id: int,
    by_id: Mapping[tuple[str, int], int],
    leading: Leading,
    line: str,
) -> TraceEvent | None:
    line_of = partial(action_line, run_id, broker_id)
    if REGISTERED.search(line):
        return line_of(Action.REGISTER_BROKER)
    if elected := _ELECTED.search(line):
        epoch = int(elected[1])
        owner = {"controller_id": broker_id, "session_id": epoch}
        return line_of(Action.ELECT_CONTROLLER, controller_epoch=epoch, **owner)
    place_of = partial(_place, by_id)
    if leads := _LEADS.search(line):
        isr, place = isr_of(leads["isr"]), place_of(leads.groupdict())
        begins = {"log_end_offset": int(leads["offset"])}
        leading.begin(partition_in(leads), int(leads["leader_epoch"]))
        return line_of(Action.BECOME_LEADER, leader=broker_id, isr=isr, **place, **begins)
    if follows := _FOLLOWS.search(line):
        leader, place = int(follows["leader"]), place_of(follows.groupdict())
        return line_of(Action.BECOME_FOLLOWER, leader=leader, **place)
    if learns := _LEARNS.search(line):
        state = dict(_FIELD.findall(learns["state"]))
        told = {"leader_epoch": state["leaderEpoch"], "version": state["partitionEpoch"]}
        leader, isr = int(state["leader"]), isr_of(state["isr"].strip("[]"))
        place = place_of(learns.groupdict() | told)
        return line_of(ROLES[learns["role"]], leader=leader, isr=isr, **place)
    advance = leading.read(line)
    return None if advance is None else line_of(Action.ADVANCE_HIGH_WATERMARK, **advance)


def _place(by_id: Mapping[tuple[str, int], int], told: Mapping[str, str | None]) -> dict[str, Any]:
    topic_id, partition = told["topic_id"] or "", int(told["partition"] or 0)
    return {
        "topic": told["topic"],
        "partition": partition,
        "partition_incarnation": by_id.get((topic_id, partition)),
        "leader_epoch": int(told["leader_epoch"] or 0),
        "znode_version": int(told["version"] or 0),
    }
