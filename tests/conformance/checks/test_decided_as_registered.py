"""What controllers decide fits the brokers that are registered."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fencepost.conformance.checks.decided_as_registered import check
from fencepost.spec.vocabulary import Action, Outcome, RefusalKind
from tests.conformance.checks.trace_builder import ZNODE, Trace, document

BROKERS = {1: 1, 2: 2, 3: 3}
"""Broker -> the epoch under which it registers before the election."""


@dataclass
class Cluster:
    """Broker 3 is controller of epoch 1 from zxid 10 on."""

    trace: Trace = field(default_factory=Trace)
    zxid: int = 0

    def __post_init__(self) -> None:
        for broker_id, zxid in BROKERS.items():
            self.register(broker_id, zxid)
        self.znode("Create", "/controller_epoch", "1", zxid=10)
        self.tell(Action.ELECT_CONTROLLER, topic=None, partition=None, controller_id=3)

    def register(self, broker_id: int, zxid: int) -> None:
        path = f"/brokers/ids/{broker_id}"
        self.znode("Create", path, "{}", zxid=zxid, session=100 + broker_id)

    def leave(self, broker_id: int) -> None:
        self.znode("Delete", f"/brokers/ids/{broker_id}", "")

    def znode(
        self, action: str, path: str, data: str, *, zxid: int = 0, session: int = 103
    ) -> None:
        self.zxid = zxid or self.zxid + 1
        self.trace.zookeeper(action, path, data, session=session, zxid=self.zxid)

    def tell(self, action: str, **fields: object) -> None:
        self.trace.broker(3, action, **{"controller_epoch": 1, **fields})

    def look(self, live: Mapping[int, int] = BROKERS) -> None:
        told = {"live_brokers": [*live], "broker_epochs": [*live.values()]}
        self.tell(Action.DETECT_BROKER_CHANGE, topic=None, partition=None, **told)

    def init(self, leader: int, *isr: int) -> None:
        told = {"leader": leader, "leader_epoch": 0, "isr": [*isr]}
        self.tell(Action.INIT_LEADER, assigned_replicas=[1, 2, 3], **told)
        self.znode("Create", ZNODE, document(leader, 0, [*isr]))

    def elect(self, leader: int, epoch: int, *isr: int) -> None:
        told = {"leader": leader, "leader_epoch": epoch, "isr": [*isr]}
        self.tell(Action.ELECT_LEADER, assigned_replicas=[1, 2, 3], **told)
        self.znode("SetData", ZNODE, document(leader, epoch, [*isr]))

    def read(self, leader: int, epoch: int, *isr: int, version: int = 0) -> None:
        state = {"data": document(leader, epoch, [*isr]), "znode_version": version}
        told = {"path": ZNODE, **state}
        self.trace.operation("broker-3", "ReadLeaderAndIsr", Outcome.OK, **told)

    def send(self, version: int = 0) -> None:
        self.tell(Action.SEND_LEADER_AND_ISR, peer="broker-2", znode_version=version)

    def found(self) -> list[str]:
        return [violation.message for violation in check(self.trace.events).violations]


def led(*isr: int) -> Cluster:
    """The partition is led by the first of these, and broker 1 has gone since."""
    cluster = Cluster()
    cluster.look()
    cluster.init(isr[0], *isr) if len(isr) == len(BROKERS) else cluster.elect(isr[0], 0, *isr)
    cluster.leave(1)
    cluster.look({2: 2, 3: 3})
    return cluster


# Live brokers


def test_what_is_registered_is_known_so() -> None:
    cluster = Cluster()
    cluster.look()
    cluster.init(1, 1, 2, 3)

    assert cluster.found() == []
    assert check(cluster.trace.events).premise_count == 2


def test_a_broker_that_never_registered_so_is_not_known() -> None:
    cluster = Cluster()
    cluster.look({1: 1, 2: 7, 3: 3})

    assert cluster.found() == [
        "Controller 3 of epoch 1 knows broker 2 as 7, and it never registered so."
    ]


def test_a_controller_that_has_not_resigned_leaves_others_to_be_judged() -> None:
    cluster = Cluster()
    cluster.look({1: 1, 2: 7, 3: 3})
    cluster.znode("SetData", "/controller_epoch", "2", session=102)
    told = {"controller_epoch": 2, "controller_id": 2, "topic": None, "partition": None}
    cluster.trace.broker(2, Action.ELECT_CONTROLLER, **told)

    assert cluster.found() == [
        "Controller 3 of epoch 1 knows broker 2 as 7, and it never registered so."
    ]


def test_a_broker_that_stands_all_the_time_is_not_left_out() -> None:
    cluster = Cluster()
    cluster.look({1: 1, 3: 3})
    cluster.init(1, 1, 3)

    assert cluster.found()[0] == (
        "Controller 3 of epoch 1 leaves out broker 2, which is registered since 10 until 11"
        " at least."
    )


def test_a_broker_that_was_known_stands_from_its_registration_on() -> None:
    cluster = Cluster()
    cluster.look()
    cluster.look({1: 1, 3: 3})
    cluster.init(1, 1, 3)

    assert cluster.found()[0] == (
        "Controller 3 of epoch 1 leaves out broker 2, which is registered since 2 until 11"
        " at least."
    )


def test_what_is_published_after_a_look_was_decided_before_it() -> None:
    cluster = Cluster()
    cluster.look()
    cluster.init(1, 1, 2, 3)
    cluster.leave(2)
    cluster.look({1: 1, 3: 3})
    cluster.tell(Action.PUBLISH_DECISION, leader=1, leader_epoch=0, isr=[1, 2, 3])

    assert cluster.found() == []


def test_a_broker_that_came_or_went_meanwhile_may_be_left_out() -> None:
    cluster = Cluster()
    cluster.leave(2)
    cluster.look({1: 1, 3: 3})
    cluster.register(2, 20)
    cluster.init(1, 1, 3)

    assert cluster.found() == []


# The first ISR


def test_all_registered_replicas_are_the_first_isr() -> None:
    cluster = Cluster()
    cluster.look()
    cluster.init(1, 1, 3)

    assert cluster.found() == [
        "orders/0 at zxid 11: replica 2 is registered, and not in the first ISR [1, 3]."
    ]


def test_a_replica_that_was_not_registered_is_not_in_the_first_isr() -> None:
    cluster = Cluster()
    cluster.znode("Delete", "/brokers/ids/2", "", zxid=5)
    cluster.look({1: 1, 3: 3})
    cluster.zxid = 10
    cluster.init(1, 1, 2, 3)

    assert cluster.found() == [
        "orders/0 at zxid 11: broker 2 is in the first ISR, and was not registered."
    ]


def test_an_epoch_that_is_written_again_by_hand_began_when_it_was_first() -> None:
    cluster = Cluster()
    cluster.look()
    cluster.init(1, 1, 2, 3)
    for broker_id in BROKERS:
        cluster.leave(broker_id)
    cluster.znode("SetData", "/controller_epoch", "1", session=99)

    assert cluster.found() == []


def test_a_replica_that_cannot_serve_or_is_ending_may_be_left_out() -> None:
    for action, fields in (
        (RefusalKind.REFUSE_COMMAND, {"error_code": "STORAGE_ERROR"}),
        (Action.OBEY_SHUTDOWN, {"controller_epoch": 1, "peer": "broker-2", "broker_epoch": 2}),
    ):
        cluster = Cluster()
        cluster.look()
        broker_id = 3 if action == Action.OBEY_SHUTDOWN else 2
        cluster.trace.broker(broker_id, action, **fields)
        cluster.init(1, 1, 3)

        assert cluster.found() == []


# Elections and duties


def test_a_member_that_is_gone_does_not_stay_in_the_isr() -> None:
    cluster = led(1, 2, 3)
    cluster.elect(2, 1, 1, 2, 3)

    assert cluster.found() == [
        "orders/0 at zxid 13: broker 1 stays in the ISR, and is known to be gone."
    ]


def test_a_member_that_is_back_by_the_time_of_the_write_may_lead() -> None:
    cluster = led(1, 2, 3)
    cluster.register(1, 30)
    cluster.elect(1, 1, 1, 2, 3)

    assert cluster.found() == []


def test_who_decides_before_it_tells_owes_nothing() -> None:
    cluster = led(1, 2, 3)
    cluster.read(1, 0, 1, 2, 3)
    cluster.elect(2, 1, 2, 3)
    cluster.send(version=1)
    cluster.look()

    assert cluster.found() == []


def test_who_tells_of_a_leader_that_is_gone_and_decides_nothing_is_wrong() -> None:
    cluster = led(1, 2, 3)
    cluster.read(1, 0, 1, 2, 3)
    cluster.send()
    cluster.look()

    assert cluster.found() == [
        "Controller 3 tells broker-2 of version 0 of orders/0 with leader 1, which is gone,"
        " and decides nothing."
    ]


def test_so_is_who_leaves_a_dead_member_to_the_leader() -> None:
    cluster = led(2, 1, 3)
    cluster.read(2, 0, 1, 2, 3)
    cluster.send()
    cluster.look()

    assert cluster.found() == [
        "Controller 3 tells broker-2 of version 0 of orders/0 with [1] in its ISR, which is gone,"
        " and decides nothing."
    ]


def test_so_is_who_leaves_a_partition_without_a_leader() -> None:
    cluster = led(2, 1, 3)
    cluster.read(-1, 1, 1, 2, version=1)
    cluster.send(version=1)
    cluster.look()

    assert cluster.found() == [
        "Controller 3 tells broker-2 of version 1 of orders/0 without a leader, while [2] of its"
        " ISR is there, and decides nothing."
    ]


def test_where_no_member_is_there_nothing_can_be_decided() -> None:
    cluster = led(2, 1, 3)
    cluster.read(1, 1, 1, version=1)
    cluster.send(version=1)
    cluster.look()

    assert cluster.found() == []


def test_what_was_queued_before_the_reading_may_still_be_told() -> None:
    cluster = led(1, 2, 3)
    cluster.read(1, 0, 1, 2, 3)
    cluster.send()
    cluster.elect(2, 1, 2, 3)
    cluster.look()

    assert cluster.found() == []


def test_without_registrations_in_the_record_only_what_is_known_counts() -> None:
    cluster = Cluster()
    cluster.look({1: 1, 2: 7, 3: 3})
    cluster.init(1, 1, 2, 3)
    told = {"live_brokers": [2, 3], "topic": None, "partition": None}
    cluster.tell(Action.DETECT_BROKER_CHANGE, **told)
    cluster.elect(2, 1, 1, 2, 3)
    rest = [one for one in cluster.trace.events if "/brokers/ids" not in (one.path or "")]

    (violation,) = check(rest).violations
    assert violation.message == (
        "orders/0 at zxid 12: broker 1 stays in the ISR, and is known to be gone."
    )


def test_a_run_without_a_controller_decides_nothing() -> None:
    assert check(Trace().events).premise_count == 0
