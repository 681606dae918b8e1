"""What a node in KRaft mode writes of itself in its log, as lines of our trace.

A registration, an election of its controller, each leader epoch of which it became leader or
follower, and each later state of that epoch, which changes the ISR alone.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from fencepost.conformance.adapters.kafka.kraft.state import REGISTERED
from fencepost.conformance.adapters.kafka.leading import Leading, partition_in
from fencepost.conformance.adapters.kafka.observations import (
    ROLES,
    action_line,
    isr_of,
    log_lines,
    trace_of,
)
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action

_ELECTED = re.compile(r"Becoming the active controller at epoch (\d+)")
_STARTS = (
    r"(?P<topic>\S+)-(?P<partition>\d+) (?:with topic id \S+ )?starts at leader epoch "
    r"(?P<leader_epoch>\d+) from offset (?P<offset>\d+) with partition epoch (?P<version>\d+)"
)
_LEADS = re.compile(rf"Leader {_STARTS}, high watermark \d+, ISR \[(?P<isr>[\d,]*)\]")
_FOLLOWS = re.compile(
    rf"Follower {_STARTS} and high watermark \d+\. Current leader is (?P<leader>-?\d+)"
)

_LEARNS = re.compile(
    r"Skipped the become-(?P<role>leader|follower) state change for "
    r"(?P<topic>\S+)-(?P<partition>\d+) with topic id \S+ (?P<state>.*)"
)
_FIELD = re.compile(r"\b(\w+)=(\[[\d, ]*\]|-?\w+)")
"""A field of the state in such a line; their order differs between releases."""


def broker_lines(folder: Path, run_id: str, broker_ids: Iterable[int]) -> Iterator[TraceEvent]:
    """The trace of every broker, in the order of brokers and time."""
    for broker_id in broker_ids:
        found = log_lines(folder, broker_id, partial(_told, run_id, broker_id, Leading()))
        yield from trace_of(folder, run_id, broker_id, found)


def _told(run_id: str, broker_id: int, leading: Leading, line: str) -> TraceEvent | None:
    line_of = partial(action_line, run_id, broker_id)
    if REGISTERED.search(line):
        return line_of(Action.REGISTER_BROKER)
    if elected := _ELECTED.search(line):
        epoch = int(elected[1])
        return line_of(Action.ELECT_CONTROLLER, controller_id=broker_id, controller_epoch=epoch)
    if leads := _LEADS.search(line):
        place, isr = _place(leads.groupdict()), isr_of(leads["isr"])
        begins = {"log_end_offset": int(leads["offset"])}
        leading.begin(partition_in(leads), int(leads["leader_epoch"]))
        return line_of(Action.BECOME_LEADER, leader=broker_id, isr=isr, **place, **begins)
    if follows := _FOLLOWS.search(line):
        leader = int(follows["leader"])
        return line_of(Action.BECOME_FOLLOWER, leader=leader, **_place(follows.groupdict()))
    if learns := _LEARNS.search(line):
        state = dict(_FIELD.findall(learns["state"]))
        told = {"leader_epoch": state["leaderEpoch"], "version": state["partitionEpoch"]}
        leader, isr = int(state["leader"]), isr_of(state["isr"].strip("[]"))
        place = _place(learns.groupdict() | told)
        return line_of(ROLES[learns["role"]], leader=leader, isr=isr, **place)
    advance = leading.read(line)
    return None if advance is None else line_of(Action.ADVANCE_HIGH_WATERMARK, **advance)


def _place(told: Mapping[str, str]) -> dict[str, int | str]:
    return {
        "topic": told["topic"],
        "partition": int(told["partition"]),
        "leader_epoch": int(told["leader_epoch"]),
        "znode_version": int(told["version"]),
    }
