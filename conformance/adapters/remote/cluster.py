"""The brokers behind an adapter program, and their published state."""

import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from fencepost.conformance.adapters.folders import Folders
from fencepost.conformance.adapters.implementation import (
    BrokerLifecycle,
    Capability,
    PublishedState,
    Site,
    StartedBroker,
)
from fencepost.conformance.adapters.remote.adapter import Adapter, AdapterTimeoutError
from fencepost.conformance.adapters.remote.channels import PROGRAM, AdapterError
from fencepost.conformance.adapters.remote.messages import (
    Done,
    NodeKillCall,
    NodeStartCall,
    NodeStarted,
    NodeStopCall,
    ObserveCall,
    Observed,
    ObservedPartition,
)
from fencepost.conformance.adapters.zookeeper_state import ZooKeeperState
from fencepost.fault_injection.faults.targets import StateVersion
from fencepost.fault_injection.injectors.injection import Registration
from fencepost.fault_injection.network.wiring import broker_name
from fencepost.spec.vocabulary import BrokerId, LeaderEpoch
from fencepost.spec.znodes import LeaderAndIsr, TopicPartition

STOP_S = 3.0
"""How long a broker may take to end in order."""


class RemoteBroker(StartedBroker):
    """One run of a broker that only the adapter reaches."""

    pid, is_running = 0, True
    returncode: int | None = None

    def __init__(self, adapter: Adapter, broker_id: int) -> None:
        self._adapter = adapter
        self._broker_id = broker_id

    def kill(self) -> None:
        """It has ended without cleaning up; so it has when its adapter has failed."""
        self.is_running, self.returncode = False, -signal.SIGKILL
        if not self._adapter.has_failed:
            self._adapter.require(NodeKillCall(broker_id=self._broker_id), Done)

    def ask_to_end(self) -> None:
        """The adapter has stopped it in order, or killed it."""
        self.terminate(STOP_S)

    def terminate(self, grace_s: float, /) -> None:
        """It has ended, by itself or killed after so many seconds."""
        self.is_running = False
        if self._adapter.has_failed:
            return
        call = NodeStopCall(broker_id=self._broker_id, deadline_ms=round(grace_s * 1000))
        with suppress(AdapterTimeoutError):
            if type(self._adapter.ask(call, Done)) is Done:
                self.returncode = 0
                return
        self.kill()


class RemoteBrokers(BrokerLifecycle):
    """The brokers behind one adapter."""

    def __init__(self, adapter: Adapter, site: Site, declared: frozenset[Capability]) -> None:
        self._adapter = adapter
        self._site = site
        self._declared = declared
        self._brokers: dict[int, StartedBroker] = {}

    def start(self, broker_id: int, /, *_flags: str) -> None:
        """The adapter has started the broker; raises `AdapterError`."""
        wiring, place = self._site.wiring, self._site.place_of(broker_id)
        if place.namespace:
            raise AdapterError(
                "an adapter starts brokers in no network namespace; choose the proxy"
            )
        call = NodeStartCall(
            broker_id=broker_id,
            zookeeper=place.zookeeper if Capability.ZOOKEEPER in self._declared else None,
            advertised=place.advertised if Capability.LINKS in self._declared else None,
        )
        pid = self._adapter.require(call, NodeStarted).pid
        if not self._has_processes:
            self._brokers[broker_id] = RemoteBroker(self._adapter, broker_id)
            return
        if pid is None:
            raise AdapterError(f"the adapter declares processes and names no pid of {broker_id}")
        process = self._site.supervisor.take_over(broker_name(broker_id), pid, PROGRAM)
        self._brokers[broker_id] = process
        if wiring:
            wiring.started(broker_id, pid)

    def started(self, broker_id: int) -> StartedBroker | None:
        """The broker's last run, ended or not."""
        return self._brokers.get(broker_id)

    def data_folder(self, broker_id: int, /) -> Path:
        """The folder that an adapter with processes promises; raises `InjectionError`."""
        if not self._has_processes:
            return super().data_folder(broker_id)
        return Folders(root=self._site.folder).data(broker_id)

    @property
    def _has_processes(self) -> bool:
        return Capability.PROCESSES in self._declared


class ObservedState(PublishedState):
    """The state that the adapter observes."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter

    def registration(self, broker_id: int) -> Registration | None:
        """The run of the broker that is live; clients call it by its id."""
        for live in self._observed().brokers:
            if live.broker_id == broker_id:
                epoch = live.broker_epoch
                return Registration(session_id=epoch, zxid=epoch, address=str(broker_id))
        return None

    def controller(self) -> int | None:
        """The observed controller."""
        return self._observed().controller_id

    def live_brokers(self) -> list[int]:
        """The observed brokers, ascending."""
        return sorted(live.broker_id for live in self._observed().brokers)

    def controller_epoch(self) -> int | None:
        """The observed epoch of the last controller."""
        return self._observed().controller_epoch

    def version_of(self, partition: TopicPartition, /) -> StateVersion | None:
        """The observed version of the partition's state."""
        one = self._partition(partition)
        if one is None or one.znode_version is None:
            return None
        return StateVersion(one.znode_version, one.partition_incarnation)

    def topics(self) -> list[str]:
        """The observed topics, ascending."""
        return sorted({one.topic for one in self._observed().partitions})

    def assignment(self, topic: str) -> Mapping[int, tuple[int, ...]]:
        """The assigned replicas of each partition."""
        found = self._observed().partitions
        return {one.partition: one.assigned_replicas for one in found if one.topic == topic}

    def state_of(self, partition: TopicPartition) -> LeaderAndIsr | None:
        """The observed leader, epoch and ISR."""
        one = self._partition(partition)
        return _state(one) if one else None

    def _partition(self, partition: TopicPartition) -> ObservedPartition | None:
        found = self._observed().partitions
        return next((one for one in found if (one.topic, one.partition) == partition), None)

    def _observed(self) -> Observed:
        return self._adapter.require(ObserveCall(), Observed)


def _state(one: ObservedPartition) -> LeaderAndIsr:
    return LeaderAndIsr(
        leader=BrokerId(one.leader),
        leader_epoch=LeaderEpoch(one.leader_epoch),
        isr=frozenset(map(BrokerId, one.isr)),
    )


class StateInZooKeeper(ZooKeeperState):
    """The state in the ZooKeeper of the harness; clients call brokers by their ids."""

    def registration(self, broker_id: int) -> Registration | None:
        """The registration of the broker now."""
        found = super().registration(broker_id)
        return replace(found, address=str(broker_id)) if found else None
