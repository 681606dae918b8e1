"""A controller takes office, looks around, decides, tells, and resigns."""

import json
from dataclasses import dataclass, field

import pytest

from fencepost.conformance.checks.controller_in_order import check
from fencepost.spec.vocabulary import Action, Outcome
from fencepost.spec.znodes import TopicPartition, leader_and_isr_path
from tests.conformance.checks.trace_builder import ZNODE, Trace, document

EPOCH_ZXID = 20


@dataclass
class Cluster:
    """Broker 2 is elected under epoch 5, when one partition has a state."""

    trace: Trace = field(default_factory=Trace)

    def __post_init__(self) -> None:
        topic = json.dumps({"version": 1, "partitions": {"0": [1, 2]}})
        self.znode("Create", "/brokers/topics/orders", topic, 10)
        self.znode("Create", ZNODE, document(1, 0, [1, 2]), 11)
        self.tell(Action.REGISTER_BROKER, session_id=2, zxid=9)

    def znode(self, action: str, path: str, data: str, zxid: int, session: int = 2) -> None:
        self.trace.zookeeper(action, path, data, session=session, zxid=zxid)

    def tell(self, action: str, **fields: object) -> None:
        told: dict[str, object] = {"topic": None, "partition": None, "controller_epoch": 5}
        self.trace.broker(2, action, **{**told, **fields})

    def read_controller(self, controller_id: int) -> None:
        told = {"topic": None, "partition": None, "broker_id": 2, "controller_id": controller_id}
        self.trace.operation("broker-2", "ReadController", Outcome.OK, **told)

    def take_office(self, found: int = -1) -> None:
        self.read_controller(found)
        self.znode("SetData", "/controller_epoch", "5", EPOCH_ZXID)
        self.tell(Action.ELECT_CONTROLLER, controller_id=2, session_id=2)

    def look(self, **brokers: int) -> None:
        live = {int(name[1:]): epoch for name, epoch in brokers.items()}
        told = {"live_brokers": [*live], "broker_epochs": [*live.values()]}
        self.tell(Action.DETECT_BROKER_CHANGE, **told)

    def read(self, **fields: object) -> None:
        self.trace.operation("broker-2", "ReadLeaderAndIsr", Outcome.OK, path=ZNODE, **fields)

    def send(self, action: str = Action.SEND_LEADER_AND_ISR, peer: str = "broker-1") -> None:
        self.tell(action, topic="orders", partition=0, peer=peer)

    def found(self) -> list[str]:
        return [violation.message for violation in check(self.trace.events).violations]


def in_office() -> Cluster:
    cluster = Cluster()
    cluster.take_office()
    cluster.look(b1=8, b2=9)
    cluster.read()
    return cluster


def test_a_controller_that_looks_reads_and_begins_with_init_is_right() -> None:
    cluster = in_office()
    cluster.send(Action.SEND_INIT)
    cluster.send()
    cluster.tell(Action.RESIGN_CONTROLLER)
    cluster.tell(Action.LEARN_CONTROLLER, controller_id=1, controller_epoch=6)

    assert cluster.found() == []
    assert check(cluster.trace.events).premise_count == 2


def test_without_an_election_there_is_nothing_to_judge() -> None:
    assert check(Cluster().trace.events).premise_count == 0


def test_no_broker_takes_office_after_it_has_read_another() -> None:
    cluster = Cluster()
    cluster.take_office(found=1)

    assert cluster.found() == ["Broker 2 takes office after it has read broker 1."]


def test_a_broker_that_finds_its_own_name_may_take_office() -> None:
    cluster = Cluster()
    cluster.take_office(found=2)

    assert cluster.found() == []


def test_what_people_write_to_the_znode_is_not_judged() -> None:
    cluster = Cluster()
    cluster.znode("Create", "/controller", '{"version":1,"brokerid":1}', 12, session=99)
    cluster.take_office(found=1)

    assert cluster.found() == []


def test_a_controller_looks_before_it_acts() -> None:
    cluster = Cluster()
    cluster.take_office()
    cluster.read()
    cluster.tell(Action.OBEY_SHUTDOWN, peer="broker-1", broker_epoch=8)
    cluster.look(b1=8, b2=9)

    assert cluster.found() == [
        "Controller 2 of epoch 5 begins with ObeyShutdown, and has not looked for live brokers."
    ]


def test_a_controller_reads_all_states_before_it_acts() -> None:
    cluster = Cluster()
    cluster.read()
    cluster.take_office()
    cluster.look(b1=8, b2=9)
    cluster.read(leader_epoch=0)
    cluster.trace.operation("broker-2", "ReadLeaderAndIsr", Outcome.INDEFINITE, path=ZNODE)
    cluster.trace.operation("broker-2", "WriteLeaderAndIsr", Outcome.OK, path=ZNODE)
    cluster.send(Action.SEND_INIT)

    assert cluster.found() == [
        "Controller 2 of epoch 5 begins with SendInit before it has read orders/0."
    ]


@pytest.mark.parametrize(("count", "more"), [(2, ""), (3, " and 1 more")])
def test_three_states_that_are_not_read_are_named(count: int, more: str) -> None:
    cluster = Cluster()
    cluster.read()
    for number in range(1, count + 1):
        path = leader_and_isr_path(TopicPartition("orders", number))
        cluster.znode("Create", path, document(1, 0, [1]), 11 + number)
    cluster.take_office()
    cluster.look(b1=8, b2=9)
    cluster.send(Action.SEND_INIT)

    unread = f"orders/0, orders/1, orders/2{more}"
    assert cluster.found() == [
        f"Controller 2 of epoch 5 begins with SendInit before it has read {unread}."
    ]


def test_a_state_that_goes_or_is_newer_need_not_be_read() -> None:
    cluster = Cluster()
    cluster.read()
    cluster.znode("Delete", ZNODE, "", EPOCH_ZXID + 1)
    cluster.znode("Create", ZNODE, document(1, 0, [1]), EPOCH_ZXID + 2)
    cluster.take_office()
    cluster.look(b1=8, b2=9)
    cluster.send(Action.SEND_INIT)

    assert cluster.found() == []


def test_the_states_of_a_topic_that_is_being_deleted_need_not_be_read() -> None:
    cluster = Cluster()
    cluster.read()
    gone = json.dumps({"version": 1, "partitions": {"0": [1, 2]}, "is_deleted": True})
    cluster.znode("SetData", "/brokers/topics/orders", gone, EPOCH_ZXID + 1)
    cluster.take_office()
    cluster.look(b1=8, b2=9)
    cluster.send(Action.SEND_INIT)

    assert cluster.found() == []


def test_a_command_before_the_init_is_wrong_also_to_a_broker_that_came_back() -> None:
    cluster = in_office()
    cluster.send(Action.SEND_INIT)
    cluster.look(b2=9)
    cluster.look(b1=30, b2=9)
    cluster.send()

    assert cluster.found() == ["Controller 2 of epoch 5 tells broker-1 a state before its INIT."]


@pytest.mark.parametrize(
    ("action", "path", "is_owed"),
    [
        ("Create", "/brokers/topics/broken", True),
        ("SetData", ZNODE, True),
        ("Delete", "/brokers/topics/broken", False),
        ("Create", "/config/topics/broken", False),
    ],
)
def test_where_a_topic_or_a_state_cannot_be_parsed_an_init_may_be_owed(
    action: str, path: str, is_owed: bool
) -> None:
    cluster = in_office()
    cluster.znode(action, path, "{", 30)
    cluster.send(Action.SEND_INIT, peer="broker-2")
    cluster.send()

    told = "Controller 2 of epoch 5 tells broker-1 a state before its INIT."
    assert cluster.found() == ([] if is_owed else [told])


def test_a_controller_resigns_before_it_learns_of_another_or_of_none() -> None:
    for controller_id, who in ((1, "broker 1"), (-1, "none")):
        cluster = in_office()
        cluster.tell(Action.LEARN_CONTROLLER, controller_id=2)
        cluster.tell(Action.LEARN_CONTROLLER, controller_id=controller_id)

        assert cluster.found() == [f"Broker 2 learns of {who} before it resigns."]


def test_nothing_is_decided_or_told_out_of_office_or_for_another_epoch() -> None:
    cluster = in_office()
    cluster.tell(Action.PUBLISH_DECISION, controller_epoch=4)
    cluster.tell(Action.RESIGN_CONTROLLER)
    cluster.look(b1=8, b2=9)

    assert cluster.found() == [
        "PublishDecision of broker 2 is of controller epoch 4, while it is in epoch 5.",
        "DetectBrokerChange of broker 2 is of controller epoch 5, while it is out of office.",
    ]
    witnesses = [violation.witness for violation in check(cluster.trace.events).violations]
    assert [[event.action for event in events] for events in witnesses] == [
        [Action.ELECT_CONTROLLER, Action.PUBLISH_DECISION],
        [Action.DETECT_BROKER_CHANGE],
    ]


def test_what_an_implementation_never_tells_is_not_missed() -> None:
    cluster = Cluster()
    cluster.tell(Action.PUBLISH_DECISION)
    of_decisions = cluster.found()
    cluster = Cluster()
    cluster.take_office()
    cluster.send()

    assert of_decisions == cluster.found() == []
