"""Commands and reports that come too late to a healed cluster: each is refused, and does nothing.

They are what a controller or a broker would have sent a moment ago: of the leader epoch, the
controller epoch or the incarnation of the broker before the present one.
"""

from msgspec import structs

from fencepost.fault_injection.workload.commands import (
    CommandedPartition,
    ControlCommand,
    ControlMethod,
)
from fencepost.impl.core.types.broker_reports import IsrChangedRequest, LogsFailedRequest
from fencepost.impl.sim.requests.asking import AskingClient, Step
from fencepost.impl.sim.stories.command import command_request
from fencepost.spec.vocabulary import (
    NO_BROKER_EPOCH,
    BrokerEpoch,
    BrokerId,
    ErrorCode,
    ProtocolLevel,
)
from fencepost.spec.znodes import TopicPartition, leader_and_isr_path

FIRST_INCARNATION = 1
"""Older than that of any partition, and known: 0 would stand for any."""


class LateCommands:
    """The part of the last requests that is about commands, of one partition and its leader."""

    def __init__(self, client: AskingClient, key: TopicPartition) -> None:
        """The client sends them, and notes what is wrong."""
        self._client = client
        self._cluster = client.cluster
        self._key = key

    def script(self) -> Step:
        """All of them in turn, when the roles of the partition are known everywhere."""
        yield self._client.rest()
        before, leader = self._cluster.state(self._key), self._client.leader_of(self._key)
        for method in (ControlMethod.STOP_REPLICA, ControlMethod.LEADER_AND_ISR):
            command = self._command(method, leader)
            about = command.about
            assert about is not None, "each is about the partition"
            older = structs.replace(about, leader_epoch=about.leader_epoch - 1)
            late = structs.replace(command, about=older)
            yield from self._is_refused(late, ErrorCode.STALE_LEADER_EPOCH, leader)
            deposed = structs.replace(command, controller_epoch=command.controller_epoch - 1)
            yield from self._is_refused(deposed, ErrorCode.STALE_CONTROLLER_EPOCH, leader)
            if self._cluster.options.level >= ProtocolLevel.BROKER_EPOCH:
                former = structs.replace(command, broker_epoch=command.broker_epoch - 1)
                yield from self._is_refused(former, ErrorCode.STALE_BROKER_EPOCH, leader)
            if method is ControlMethod.LEADER_AND_ISR:
                gone = structs.replace(about, partition_incarnation=FIRST_INCARNATION)
                late = structs.replace(command, about=gone)
                yield from self._is_refused(late, ErrorCode.UNKNOWN_TOPIC_ID, leader)
        yield from self._late_reports_are_refused(leader)
        if self._cluster.state(self._key) != before:
            self._client.wrong.append("a command that came too late has changed the partition")

    def _late_reports_are_refused(self, reporter: BrokerId) -> Step:
        """The controller alone takes them, of the registration that there is."""
        controller = self._cluster.controller()
        assert controller is not None, "a cluster at rest has a controller"
        at = controller.broker_id
        other = next(one for one in sorted(self._cluster.disks) if one != at)
        epoch = self._cluster.processes[reporter].node.broker.broker_epoch
        for kind in (LogsFailedRequest, IsrChangedRequest):
            report = kind(broker_id=reporter, broker_epoch=epoch, partitions=())
            former = structs.replace(report, broker_epoch=BrokerEpoch(epoch - 1))
            for to, sent, error in (
                (at, report, ErrorCode.NONE),
                (at, former, ErrorCode.BROKER_NOT_AVAILABLE),
                (other, report, ErrorCode.NOT_CONTROLLER),
            ):
                yield from self._client.expect(sent, error, to=to)

    def _is_refused(self, command: ControlCommand, error: ErrorCode, to: BrokerId) -> Step:
        """The command is written down, sent, and answered so."""
        self._cluster.harness.write(command.told(to))
        request = command_request(command)
        if self._cluster.options.level >= ProtocolLevel.MAX_BROKER_EPOCH:
            largest = command.broker_epoch
            request = structs.replace(
                request, broker_epoch=NO_BROKER_EPOCH, max_broker_epoch=largest
            )
        yield from self._client.expect(request, error, to=to)

    def _command(self, method: ControlMethod, to: BrokerId) -> ControlCommand:
        """As the present controller would send it to the broker."""
        controller, known = self._cluster.controller(), self._cluster.state(self._key)
        stat = self._cluster.zookeeper.peek(leader_and_isr_path(self._key)).stat
        assert controller is not None, "a cluster at rest has a controller"
        assert known is not None, "and a state of each partition"
        assert stat is not None, "which is in a znode"
        state, version = known
        about = CommandedPartition(
            partition=self._key,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=tuple(sorted(state.isr)),
            assigned_replicas=self._cluster.assignments()[self._key],
            znode_version=version,
            partition_incarnation=stat.czxid,
            topic_id=state.topic_id,
            is_deleted=True,
        )
        return ControlCommand(
            method=method,
            controller_id=controller.broker_id,
            controller_epoch=controller.node.controller.generation.controller_epoch,
            broker_id=to,
            broker_epoch=self._cluster.processes[to].node.broker.broker_epoch,
            about=about,
        )
