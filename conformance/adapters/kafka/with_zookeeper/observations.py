"""What a broker in ZooKeeper mode leaves behind besides its disk, as lines of our trace.

- ZooKeeper's transaction log: which broker each session belongs to, and which became controller
  (exact, as the log is), and which leaders it elected outside the ISR where it may.
- The lines of `state.change.logger`: commands that a broker received and completed (`log`).
- Those of a partition: where an epoch begins in its leader's log, and what is committed (`log`).

No line names the incarnation of a partition. Where a topic was made again, it is the one of which
the state was created last before the line, by the clock of the host: brokers are told afterwards.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from fencepost.conformance.adapters.implementation import RunSite
from fencepost.conformance.adapters.kafka.leading import Leading, partition_in
from fencepost.conformance.adapters.kafka.observations import (
    MS,
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
from fencepost.fault_injection.network.wiring import broker_name
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action
from fencepost.spec.znodes import BROKER_IDS, CONTROLLER, CONTROLLER_EPOCH, TopicPartition

_ISR = r"isr=\[?(?P<isr>[\d, ]*)\]?, "
_EPOCHS = r"controllerEpoch=\d+, leader=(?P<leader>-?\d+), leaderEpoch=(?P<leader_epoch>\d+), "
_SENDER = (
    r".*correlation id (?P<number>\d+) from controller (?P<controller>\d+) epoch (?P<epoch>\d+)"
)
_RECEIVED = (
    # up to 2.3, where a request has one state per partition
    re.compile(
        rf"[Rr]eceived LeaderAndIsr request PartitionState\({_EPOCHS}{_ISR}"
        rf"zkVersion=(?P<version>\d+){_SENDER} "
        r"for partition \[?(?P<topic>[^\s,]+?)[,-](?P<partition>\d+)\]?"
    ),
    # from 2.4 on, generated messages
    re.compile(
        r"[Rr]eceived LeaderAndIsr request LeaderAndIsrPartitionState\("
        r"topicName='(?P<topic>[^']*)', partitionIndex=(?P<partition>\d+), "
        rf"{_EPOCHS}{_ISR}(?:zkVersion|partitionEpoch)=(?P<version>\d+){_SENDER}"
    ),
)
_REQUEST = (
    r"LeaderAndIsr request (?:correlationId|with correlation id) (?P<number>\d+) "
    r"from controller (?P<controller>\d+) epoch (?P<epoch>\d+)"
)
_TRANSITION = (
    r"become-(?P<role>leader|follower) transition for partition (?P<topic>\S+)-(?P<partition>\d+)"
)
_BEGUN = re.compile(rf"[Hh]andling {_REQUEST} starting the {_TRANSITION}")
_COMPLETED = re.compile(rf"[Cc]ompleted {_REQUEST} for the {_TRANSITION}")
_ABORTED = re.compile(
    r"[Rr]eceived LeaderAndIsrRequest with correlation id (?P<number>\d+) from controller "
    r"(?P<controller>\d+) epoch \d+ for partition \[?(?P<topic>[^\s,]+?)[,-](?P<partition>\d+)\]? "
    r".*cannot become follower"
)
"""The leader is not known to be alive, or there is none: the epoch is not taken over."""


def broker_lines(site: RunSite, zookeeper: Iterable[TraceEvent]) -> Iterator[TraceEvent]:
    """The trace of every broker, in the order of brokers and time; `zookeeper` is in our words."""
    zookeeper = list(zookeeper)
    known, created = list(_owners(site.run_id, zookeeper)), creations(zookeeper)
    if site.unclean_leader_election:
        elected = [one.event for one in known if one.event]
        known += unclean_elections(site.run_id, zookeeper, elected)
    for broker_id in site.broker_ids:
        node = broker_name(broker_id)
        found = [one for one in known if one.event and one.event.node == node]
        found += log_lines(site, broker_id, _Commands(site.run_id, broker_id).told)
        named = (of_incarnation(one, created) for one in found)
        yield from trace_of(site.folder, site.run_id, broker_id, named)


def _owners(run_id: str, zookeeper: Iterable[TraceEvent]) -> Iterator[Dated]:
    """Registrations and elections; the epoch of a controller is what its transaction raised."""
    epoch = 0
    lines = list(zookeeper)
    epochs = {
        line.zxid: int(line.data or 0)
        for line in lines
        if line.path == CONTROLLER_EPOCH and line.data
    }
    for line in lines:
        epoch = epochs.get(line.zxid, epoch)
        parent, _, name = (line.path or "").rpartition("/")
        told = {"session_id": line.session_id, "zxid": line.zxid}
        if line.action != "Create":
            continue
        at = (line.wall_ns or 0) // MS
        if parent == BROKER_IDS:
            event = action_line(run_id, int(name), Action.REGISTER_BROKER, **told)
            yield Dated(wall_ms=at, event=event)
        elif line.path == CONTROLLER:
            broker_id = int(json.loads(line.data or "{}").get("brokerid", 0))
            told |= {"controller_id": broker_id, "controller_epoch": epoch}
            event = action_line(run_id, broker_id, Action.ELECT_CONTROLLER, **told)
            yield Dated(wall_ms=at, event=event)


class _Commands:
    """The commands that one broker has received; each counts once it was completed."""

    def __init__(self, run_id: str, broker_id: int) -> None:
        self._line_of = partial(action_line, run_id, broker_id)
        self._received: dict[tuple[str, ...], Mapping[str, str]] = {}
        self._leading = Leading()

    def told(self, line: str) -> TraceEvent | None:
        """The command that this line completes, or what it says is committed now."""
        if told := next(filter(None, (one.search(line) for one in _RECEIVED)), None):
            self._received[_command(told)] = told.groupdict()
        elif aborted := _ABORTED.search(line):
            self._received.pop(_command(aborted), None)
        elif begun := _BEGUN.search(line):
            self._begin(begun, self._received.get(_command(begun)))
        elif done := _COMPLETED.search(line):
            command = self._received.pop(_command(done), None)
            return None if command is None else self._obeyed(done["role"], command)
        elif advance := self._leading.read(line):
            return self._line_of(Action.ADVANCE_HIGH_WATERMARK, **advance)
        return None

    def _begin(self, begun: re.Match[str], command: Mapping[str, str] | None) -> None:
        partition = partition_in(begun)
        if begun["role"] == "follower":
            self._leading.end(partition)
        elif command is not None:
            self._leading.begin(partition, int(command["leader_epoch"]))

    def _obeyed(self, role: str, command: Mapping[str, str]) -> TraceEvent:
        partition = TopicPartition(command["topic"], int(command["partition"]))
        leader_epoch = int(command["leader_epoch"])
        return self._line_of(
            ROLES[role],
            topic=partition.topic,
            partition=partition.partition,
            leader=int(command["leader"]),
            leader_epoch=leader_epoch,
            log_end_offset=self._leading.log_end_offset(partition, leader_epoch),
            controller_id=int(command["controller"]),
            controller_epoch=int(command["epoch"]),
            znode_version=int(command["version"]),
            isr=isr_of(command["isr"]),
        )


def _command(told: re.Match[str]) -> tuple[str, ...]:
    return tuple(told[name] for name in ("number", "controller", "topic", "partition"))
