"""What a third party does to znodes: it writes over them, or takes them away."""

from fencepost.fault_injection.faults.admin_faults import KickController
from fencepost.fault_injection.faults.zookeeper_faults import RaceVersion
from fencepost.fault_injection.injectors.injection import ProcessInjector, read
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.zookeeper.client import ZnodeContent
from fencepost.spec.znodes import TopicPartition


class VersionRaceInjector(ProcessInjector[RaceVersion]):
    """`zk.version_race`: the state of a partition is written as it is, under a new version."""

    _before: ZnodeContent | None = None

    def inject(self) -> None:
        """The version has grown; raises `InjectionError` when another client writes meanwhile."""
        self._before = self._read()
        for _ in range(self.fault.count):
            if self.target.rewrite_state(self._key()) is None:
                raise InjectionError(f"{self._key()} has no state to be written again")

    def evidence(self) -> str | None:
        """The version, which is higher by as many writes at least."""
        now = self._read()
        if self._before is None or now is None or now.czxid != self._before.czxid:
            return None
        grown = now.znode_version - self._before.znode_version
        if grown < self.fault.count:
            return None
        return f"version {self._before.znode_version} became {now.znode_version}"

    def healed(self) -> str | None:
        """The partition has a leader that is in its ISR."""
        now = self._read()
        if now is None:
            return "the partition is no more"
        state = self.target.state.state_of(self._key())
        if state is None or state.leader not in state.isr:
            return None
        return f"broker {state.leader} leads at version {now.znode_version}"

    def _read(self) -> ZnodeContent | None:
        target = self.target
        return read(target.znodes, target.paths.state_path(self._key()))

    def _key(self) -> TopicPartition:
        return TopicPartition(self.fault.topic, self.fault.partition)


class ControllerKickInjector(ProcessInjector[KickController]):
    """`admin.controller_kick`: `/controller` is deleted while its owner lives."""

    _epoch: int | None = None
    """None at level 0, which has no controller epoch."""
    _kicked: ZnodeContent | None = None

    def inject(self) -> None:
        """The znode is gone; raises `InjectionError` when there is no controller."""
        self._epoch, kicked = self._epoch_now(), self._controller()
        if kicked is None:
            raise InjectionError("there is no controller to depose")
        target = self.target
        target.znodes.delete(target.paths.controller)
        self._kicked = kicked

    def evidence(self) -> str | None:
        """A controller by another znode, and under a new epoch where there are epochs."""
        epoch, now = self._epoch_now(), self._controller()
        if self._kicked is None or now is None or now.czxid == self._kicked.czxid:
            return None
        path = self.target.paths.controller
        deleted = f"{path} of session {self._kicked.ephemeral_owner:#x} was deleted"
        if self._epoch is None:
            return f"{deleted}; session {now.ephemeral_owner:#x} has it now"
        if epoch is None or epoch <= self._epoch:
            return None
        return f"{deleted}; epoch {self._epoch} became {epoch}"

    def healed(self) -> str | None:
        """There is a controller."""
        now = self._controller()
        return f"session {now.ephemeral_owner:#x} has the controller" if now else None

    def _controller(self) -> ZnodeContent | None:
        return read(self.target.znodes, self.target.paths.controller)

    def _epoch_now(self) -> int | None:
        target = self.target
        znode = read(target.znodes, target.paths.controller_epoch)
        return int(znode.data) if znode and znode.data.isdigit() else None
