"""Connections between brokers of the simulated world and ZooKeeper."""

from fnmatch import fnmatchcase

from fencepost.fault_injection.faults.network_faults import windows_of_moments
from fencepost.fault_injection.faults.zookeeper_faults import (
    CutZooKeeper,
    DelayWatches,
    DelayZooKeeper,
    DropConnection,
    FailZooKeeperRequests,
    HurtZooKeeperLink,
    LoseZooKeeperReplies,
)
from fencepost.impl.core.types.effects import WriteZnodes
from fencepost.impl.core.types.scripts import Ask
from fencepost.impl.sim.engine.scheduler import US_PER_MS
from fencepost.impl.sim.injectors.injector import InstantInjector
from fencepost.impl.sim.world.zookeeper_link import ZooKeeperLinkFault
from fencepost.impl.trace_lines import Line


class SimulatedZooKeeperCut(InstantInjector[CutZooKeeper]):
    """`zk.cut`."""

    _session_id: int = 0

    def inject(self) -> None:
        """Break the connection, and let no other one come to be."""
        self._session_id = self.process.zookeeper.session_id
        self.cluster.cut_from_zookeeper[self.process.broker_id] += 1
        self.process.zookeeper.break_connection()

    def undo(self) -> Line:
        """Let connections come to be; the session of the broker when it was cut off."""
        self.cluster.cut_from_zookeeper[self.process.broker_id] -= 1
        return {"session_id": self._session_id}


class SimulatedZooKeeperLink(InstantInjector[HurtZooKeeperLink]):
    """`zk.link`: of the broker, whatever process it is; a restart does not mend the link."""

    _link_fault: ZooKeeperLinkFault
    _session_id: int = 0

    def inject(self) -> None:
        """Stall, reset or refuse connections from now on."""
        fault, is_stall = self.fault, self.fault.mode == "stall"
        self._link_fault = ZooKeeperLinkFault(
            stalls_to_server=is_stall and fault.direction in ("both", "c2s"),
            stalls_to_broker=is_stall and fault.direction in ("both", "s2c"),
            since_ms=self.cluster.scheduler.now_ms,
        )
        self.cluster.link_faults[self.process.broker_id].append(self._link_fault)
        self._session_id = self.process.zookeeper.session_id
        if fault.mode == "reset":
            self.process.zookeeper.break_connection()

    def undo(self) -> Line:
        """Deliver what was stalled; how much met the fault."""
        self.cluster.link_faults[self.process.broker_id].remove(self._link_fault)
        self._link_fault.release()
        return {"matched": self._link_fault.matched, "session_id": self._session_id}


class SimulatedConnectionDrop(InstantInjector[DropConnection]):
    """`zk.conn_drop`."""

    _session_id: int = 0
    _drops = 0
    _is_over = False

    def inject(self) -> None:
        """Break the connection again and again."""
        self._session_id = self.process.zookeeper.session_id
        for start_ms, _ in windows_of_moments(self.fault.for_ms, self.fault.every_ms):
            self.cluster.scheduler.after_ms(start_ms, self._drop)

    def undo(self) -> Line:
        """Break it no more; how often it broke."""
        self._is_over = True
        return {"matched": self._drops, "session_id": self._session_id}

    def _drop(self) -> None:
        if self.process.is_alive and not self._is_over:
            self._drops += 1
            self.process.zookeeper.break_connection()


class SimulatedReplyFault(InstantInjector[DelayZooKeeper | LoseZooKeeperReplies]):
    """`zk.delay`, `zk.lose_reply`: the end of either ends both."""

    def inject(self) -> None:
        """Delay all answers, or lose those to the next writes."""
        if isinstance(self.fault, DelayZooKeeper):
            self.process.zookeeper.delay_us = self.fault.delay_ms * US_PER_MS
        else:
            self.process.replies_to_lose = self.fault.count

    def undo(self) -> Line:
        """Delay and lose nothing; how many answers were lost."""
        self.process.zookeeper.delay_us = 0
        left, self.process.replies_to_lose = self.process.replies_to_lose, 0
        if isinstance(self.fault, LoseZooKeeperReplies):
            return {"matched": self.fault.count - left}
        return {}


class SimulatedWatchDelay(InstantInjector[DelayWatches]):
    """`zk.watch_delay`."""

    _matched = 0

    def inject(self) -> None:
        """Deliver late that a watch fired, from now on."""
        self.process.zookeeper.late.lateness_us = self._lateness_us

    def undo(self) -> Line:
        """Deliver at once, and what is late too; how many watches were late."""
        late = self.process.zookeeper.late
        late.lateness_us = lambda _: 0
        late.hear_of()
        return {"matched": self._matched}

    def _lateness_us(self, path: str) -> int:
        if not fnmatchcase(path, self.fault.path):
            return 0
        self._matched += 1
        return self.fault.delay_ms * US_PER_MS


class SimulatedRequestFailure(InstantInjector[FailZooKeeperRequests]):
    """`zk.fail_request`."""

    _matched = 0

    def inject(self) -> None:
        """Answer the next requests with an error."""
        self.process.zookeeper.fails = self._fails

    def undo(self) -> Line:
        """Do requests again; how many failed."""
        self.process.zookeeper.fails = None
        return {"matched": self._matched}

    def _fails(self, ask: Ask) -> bool:
        is_meant = self.fault.requests == "any" or isinstance(ask, WriteZnodes)
        if not is_meant or self._matched == self.fault.count:
            return False
        self._matched += 1
        return True
