"""A cluster of dataclasses, to be hurt in virtual time."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Never

from fencepost.conformance.adapters.znode_dialect import SPEC_DIALECT, ZnodeAccess
from fencepost.conformance.adapters.zookeeper_state import ZooKeeperState
from fencepost.fault_injection.faults.targets import ClusterView
from fencepost.fault_injection.injectors.injection import Registration
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.network.wiring import Wiring
from fencepost.spec.vocabulary import BrokerVersion
from fencepost.spec.wire.tls import TlsIdentity
from fencepost.spec.znodes import LeaderAndIsr, TopicPartition


def registered(session_id: int, zxid: int, address: str = "") -> Registration:
    return Registration(session_id=session_id, zxid=zxid, address=address)


@dataclass
class FakeProcess:
    pid: int = 0
    is_running: bool = True
    calls: list[str] = field(default_factory=list)
    returncode: int | None = None
    words: str = ""

    def stand(self) -> None:
        self.calls.append("stand")

    def go_on(self) -> None:
        self.calls.append("go on")

    def ask_to_end(self) -> None:
        self.calls.append("ask to end")

    def log_tail(self) -> str:
        return self.words

    def pause(self) -> None:
        self.calls.append("pause")

    def expect_stop(self) -> None:
        self.calls.append("expect stop")

    def resume(self) -> None:
        self.calls.append("resume")

    def kill(self) -> None:
        self.is_running = False
        self.calls.append("kill")


@dataclass
class FakeTarget:
    controller_id: int | None = 3
    session_timeout_ms: int = 1500
    registrations: dict[int, Registration] = field(
        default_factory=lambda: {broker_id: registered(broker_id, 1) for broker_id in (1, 2, 3)}
    )
    processes: dict[int, FakeProcess] = field(default_factory=dict)
    expired: list[tuple[int, bytes, int]] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    versions: dict[int, BrokerVersion] = field(default_factory=dict)
    prepared: list[int] = field(default_factory=list)
    is_loading: bool = False
    """True while those that were prepared are not ready."""
    restarted: list[int] = field(default_factory=list)
    servers: Any = None
    znodes: Any = None
    administrator: Any = None
    folder: Path = Path()
    identity: TlsIdentity | None = None

    paths = SPEC_DIALECT

    @property
    def state(self) -> "FakeTarget":
        return self

    def controller(self) -> int | None:
        return self.controller_id

    def topics(self) -> list[str]:
        return self._state.topics()

    def assignment(self, topic: str) -> dict[int, tuple[int, ...]]:
        return self._state.assignment(topic)

    def state_of(self, partition: TopicPartition) -> LeaderAndIsr | None:
        return self._state.state_of(partition)

    @property
    def _state(self) -> ZooKeeperState:
        return ZooKeeperState(ZnodeAccess(self.znodes, SPEC_DIALECT))

    def data_folder(self, broker_id: int) -> Path:
        assert broker_id in self.registrations
        return self.folder

    @property
    def load(self) -> Never:
        raise InjectionError("no clients are at work here")

    def is_in_sync(self) -> bool:
        return True

    def view(self) -> ClusterView:
        return ClusterView(controller_id=self.controller_id)

    def live_brokers(self) -> list[int]:
        return sorted(self.registrations)

    def rewrite_state(self, partition: TopicPartition) -> Never:
        raise InjectionError(f"there is no state of {partition}")

    @property
    def wiring(self) -> Never:
        raise InjectionError("its connections go through no proxy")

    @property
    def request_links(self) -> Wiring | None:
        return None

    def come_back(self, broker_id: int) -> None:
        self.registrations[broker_id] = registered(broker_id, 2)

    def process(self, broker_id: int) -> FakeProcess:
        return self.processes.setdefault(broker_id, FakeProcess())

    def prepare(self, broker_id: int) -> None:
        if broker_id not in self.prepared[-1:]:  # who waits already is not made again
            self.prepared.append(broker_id)

    def is_ready(self, broker_id: int) -> bool:
        return broker_id not in self.prepared or not self.is_loading

    def restart(self, broker_id: int) -> None:
        self.restarted.append(broker_id)

    def version_of(self, broker_id: int) -> BrokerVersion:
        return self.versions.get(broker_id, BrokerVersion(2, 2))

    def set_version(self, broker_id: int, version: BrokerVersion) -> None:
        self.versions[broker_id] = version

    def registration(self, broker_id: int) -> Registration | None:
        return self.registrations.get(broker_id)

    def expire_session(self, session_id: int, password: bytes, broker_id: int) -> None:
        self.expired.append((session_id, password, broker_id))

    def end_session(self, session_id: int) -> None:
        self.ended.append(session_id)
