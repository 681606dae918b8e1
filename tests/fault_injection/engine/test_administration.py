"""Changes that administrators and strangers make, against znodes in memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from fencepost.fault_injection.faults.admin_faults import (
    AddPartitions,
    ElectPreferred,
    KickController,
    ReassignPartition,
    RecreateTopic,
)
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.zookeeper_faults import RaceVersion
from fencepost.fault_injection.injectors.dispatch import injector_for
from fencepost.fault_injection.injectors.injection import ResolvedFault
from fencepost.fault_injection.injectors.injector import InjectionError, Injector
from fencepost.fault_injection.zookeeper.client import NoZnodeError, ZnodeContent
from fencepost.spec import znodes
from fencepost.spec.vocabulary import BrokerId, LeaderEpoch
from fencepost.spec.znodes import LeaderAndIsr, TopicPartition
from tests.fault_injection.fakes import FakeTarget

T0 = TopicPartition("t", 0)
REPLICAS = (1, 2, 3)


@dataclass
class FakeZnodes:
    nodes: dict[str, ZnodeContent] = field(default_factory=dict)
    zxid: int = 0

    def read(self, path: str) -> ZnodeContent:
        if path not in self.nodes:
            raise NoZnodeError(path)
        return self.nodes[path]

    def put(self, path: str, data: bytes, owner: int = 0) -> None:
        self.zxid += 1
        before = self.nodes.get(path)
        self.nodes[path] = ZnodeContent(
            data=data,
            znode_version=before.znode_version + 1 if before else 0,
            czxid=before.czxid if before else self.zxid,
            mzxid=self.zxid,
            ephemeral_owner=owner,
        )

    def delete(self, path: str) -> None:
        del self.nodes[path]

    def assign(self, *partitions: Sequence[int]) -> None:
        listed = {str(number): list(one) for number, one in enumerate(partitions)}
        document = znodes.TopicDocument(partitions=listed)
        self.put(znodes.topic_path("t"), znodes.document_bytes(document))

    def lead(self, leader: int, isr: Sequence[int], partition: int = 0) -> None:
        state = LeaderAndIsr(
            leader=BrokerId(leader),
            leader_epoch=LeaderEpoch(1),
            isr=frozenset(map(BrokerId, isr)),
        )
        path = znodes.leader_and_isr_path(TopicPartition("t", partition))
        self.put(path, state.document())

    def elect(self, session_id: int, epoch: int) -> None:
        self.put(znodes.CONTROLLER, b"{}", session_id)
        self.put(znodes.CONTROLLER_EPOCH, b"%d" % epoch)


@dataclass
class FakeAdministrator:
    asked: list[object] = field(default_factory=list)
    refusal: str = ""

    def reassign(self, partition: TopicPartition, replicas: Sequence[int]) -> None:
        self.asked.append((partition, tuple(replicas)))

    def set_partition_count(self, topic: str, count: int) -> None:
        self.asked.append((topic, count))

    def create_topic(self, topic: str, assignment: Sequence[Sequence[int]]) -> None:
        self.asked.append((topic, list(map(tuple, assignment))))
        if self.refusal:
            raise InjectionError(f"the creation of {topic} was refused: {self.refusal}")

    def delete_topic(self, topic: str) -> None:
        self.asked.append(topic)

    def elect_preferred(self, partition: TopicPartition) -> None:
        self.asked.append(partition)


@dataclass
class Target(FakeTarget):
    """One topic with one partition, which broker 1 leads."""

    znodes: Any = field(default_factory=FakeZnodes)
    administrator: Any = field(default_factory=FakeAdministrator)

    def __post_init__(self) -> None:
        self.znodes.assign(REPLICAS)
        self.znodes.lead(1, REPLICAS)
        self.znodes.elect(77, 4)

    def rewrite_state(self, partition: TopicPartition) -> Any:  # noqa: ANN401
        path = znodes.leader_and_isr_path(partition)
        self.znodes.put(path, self.znodes.read(path).data)
        return self.znodes.read(path).znode_version


def prepared(fault: Fault) -> tuple[Injector[str], Target]:
    target = Target()
    return injector_for(
        ResolvedFault(fault_id="f", fault=fault, target=target, victim_id=None)
    ), target


def injected(fault: Fault) -> tuple[Injector[str], Target]:
    injection, target = prepared(fault)
    injection.inject()
    return injection, target


def move(target: Target) -> None:
    target.znodes.assign((2, 1))
    target.znodes.lead(1, (2, 1))


def lead(target: Target) -> None:
    target.znodes.lead(2, REPLICAS)


def add(target: Target) -> None:
    target.znodes.assign(REPLICAS, REPLICAS)
    target.znodes.lead(1, REPLICAS, 1)


def elect(target: Target) -> None:
    target.znodes.elect(78, 5)


@pytest.mark.parametrize(
    ("fault", "asked", "change", "evidence", "healed"),
    [
        (
            ReassignPartition(topic="t", replicas=(2, 1)),
            [(T0, (2, 1))],
            move,
            "(1, 2, 3) became (2, 1)",
            "(2, 1) are in sync",
        ),
        (
            AddPartitions(topic="t"),
            [("t", 2)],
            add,
            "1 partitions became 2",
            "2 partitions of t are led, with all replicas in sync",
        ),
        (
            KickController(),
            [],
            elect,
            "/controller of session 0x4d was deleted; epoch 4 became 5",
            "session 0x4e has the controller",
        ),
        (
            RaceVersion(topic="t", count=2),
            [],
            lambda _: None,
            "version 0 became 2",
            "broker 1 leads at version 2",
        ),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else "",
)
def test_a_change_is_seen_when_it_has_begun_and_over_when_it_is_reached(
    fault: Fault, asked: list[object], change: Callable[[Target], None], evidence: str, healed: str
) -> None:
    injection, target = prepared(fault)
    assert injection.evidence() is None

    injection.inject()
    assert isinstance(fault, RaceVersion) or injection.evidence() is None
    change(target)

    assert target.administrator.asked == asked
    assert injection.evidence() == evidence
    injection.heal()
    assert injection.healed() == healed


def test_a_leader_that_is_preferred_already_is_not_elected() -> None:
    injection, _ = prepared(ElectPreferred(topic="t"))

    with pytest.raises(InjectionError, match="broker 1 leads t/0 already"):
        injection.inject()


def test_a_preferred_leader_leads_again() -> None:
    injection, target = prepared(ElectPreferred(topic="t"))
    lead(target)
    injection.inject()
    assert injection.evidence() is None

    target.znodes.lead(1, REPLICAS)

    assert target.administrator.asked == [T0]
    assert injection.evidence() == "broker 1 leads instead of 2"
    assert injection.healed() == "broker 1 leads in epoch 1"


def test_a_deleted_topic_is_created_again_once_it_is_gone() -> None:
    injection, target = injected(RecreateTopic(topic="t", for_ms=10))
    assert injection.evidence() is None
    injection.heal()
    assert target.administrator.asked == ["t"]

    target.znodes.delete(znodes.topic_path("t"))
    target.znodes.delete(znodes.leader_and_isr_path(T0))

    assert injection.evidence() is not None
    injection.heal()
    assert target.administrator.asked == ["t", ("t", [REPLICAS])]
    target.znodes.assign(REPLICAS)
    target.znodes.lead(1, REPLICAS)
    injection.heal()
    assert len(target.administrator.asked) == 2
    assert injection.healed() == "1 partitions of t are led, with all replicas in sync"


def test_without_a_controller_nobody_is_deposed() -> None:
    injection, target = prepared(KickController())
    target.znodes.delete(znodes.CONTROLLER)

    with pytest.raises(InjectionError, match="there is no controller to depose"):
        injection.inject()


def test_controller_without_epoch_is_deposed_when_there_is_another_one() -> None:
    injection, target = prepared(KickController())
    del target.znodes.nodes[znodes.CONTROLLER_EPOCH]

    injection.inject()
    assert injection.evidence() is None
    target.znodes.put(znodes.CONTROLLER, b"{}", 0xC)

    assert "session 0xc has it now" in (injection.evidence() or "")


def test_a_topic_that_is_still_being_deleted_is_asked_for_again() -> None:
    injection, target = injected(RecreateTopic(topic="t", for_ms=10))
    target.znodes.delete(znodes.topic_path("t"))

    target.administrator.refusal = "TOPIC_ALREADY_EXISTS"
    injection.heal()
    assert injection.healed() is None
    assert len(target.administrator.asked) == 3

    target.administrator.refusal = "INVALID_REPLICA_ASSIGNMENT"
    with pytest.raises(InjectionError, match="INVALID_REPLICA_ASSIGNMENT"):
        injection.healed()
