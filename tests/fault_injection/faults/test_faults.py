import pytest

from fencepost.fault_injection.faults.catalogue import KINDS
from fencepost.fault_injection.faults.clock_faults import JumpClock
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.fault_json import as_json, fault_from_json
from fencepost.fault_injection.faults.network_faults import PartitionBrokers, ReorderLink
from fencepost.fault_injection.faults.process_faults import CrashAt, KillBroker, PauseBroker
from fencepost.fault_injection.faults.request_faults import DropResponse, HoldRequest
from fencepost.fault_injection.faults.targets import (
    ANY_BROKER,
    CONTROLLER,
    ClusterView,
    FaultError,
    broker,
    follower,
    leader,
    parse_target,
)
from fencepost.fault_injection.faults.zookeeper_faults import FailOverZooKeeper
from fencepost.spec.znodes import TopicPartition

PARTITION = TopicPartition("orders", 1)
VIEW = ClusterView(
    controller_id=3, leaders={PARTITION: 2}, assigned_replicas={PARTITION: (1, 2, 3)}
)

EXAMPLES: list[Fault] = [
    PauseBroker(target=leader("orders", 1), for_ms=2000),
    KillBroker(target=CONTROLLER, restart_after_ms=None),
    KillBroker(target=broker(2), restart_after_ms=0),
    DropResponse(method="Fetch", sender=follower("orders", 1, 1), receiver=broker(1), for_ms=9),
    HoldRequest(method="", sender=broker(1), receiver=ANY_BROKER, topic="orders", for_ms=50),
    CrashAt(target=CONTROLLER, point="after_write", nth=2, for_ms=300),
    JumpClock(target=broker(1), by_ms=9_000),
    PartitionBrokers(side=(1, 3), for_ms=70),
    ReorderLink(sender=leader("orders", 1), receiver=broker(3), delay_ms=4, for_ms=70),
    FailOverZooKeeper(for_ms=200),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", 7),
        ("controller", 3),
        ("leader(orders/1)", 2),
        ("follower(orders/1,0)", 1),
        ("follower(orders/1,1)", 3),
        ("follower(orders/1,2)", None),
        ("leader(other/0)", None),
    ],
)
def test_target_is_resolved_against_the_view(text: str, expected: int | None) -> None:
    target = parse_target(text)

    assert target.resolve(VIEW) == expected
    assert str(target) == text


def test_partition_without_leader_resolves_to_nobody() -> None:
    view = ClusterView(leaders={PARTITION: -1})

    assert leader("orders", 1).resolve(view) is None
    assert CONTROLLER.resolve(view) is None


@pytest.mark.parametrize("fault", EXAMPLES, ids=lambda fault: fault.kind)
def test_fault_survives_json(fault: Fault) -> None:
    assert fault_from_json(as_json(fault)) == fault


def test_every_kind_has_one_sentence() -> None:
    sentences = [kind.sentence for kind in KINDS.values()]

    assert len(set(sentences)) == len(KINDS) >= 23
    assert all(sentence.endswith(".") and "\n" not in sentence for sentence in sentences)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (3, "expected a JSON object"),
        ({"fault": "proc.nap"}, "unknown fault 'proc.nap'; choose one of admin.add_partitions"),
        ({"fault": "proc.pause", "target": "1"}, "needs the field 'for_ms'"),
        ({"fault": "proc.pause", "target": "1", "for_ms": "long"}, "for_ms is 'long'"),
        ({"fault": "proc.pause", "target": "1", "for_ms": True}, "for_ms is True"),
        ({"fault": "proc.pause", "target": "1", "for_ms": 0}, "for_ms is 0; give 1 or more"),
        ({"fault": "proc.pause", "target": "boss", "for_ms": 1}, "target 'boss' is none"),
        ({"fault": "proc.pause", "target": "any", "for_ms": 1}, "for receivers only"),
        ({"fault": "zk.expire", "target": "1", "manner": "x"}, "has no field 'manner'"),
        ({"fault": "zk.expire", "target": "1", "mode": "x"}, "mode 'x' is none; choose one of"),
        (
            {"fault": "rpc.hold", "method": "Sing", "sender": "1", "for_ms": 1},
            "method 'Sing' is none",
        ),
        (
            {"fault": "proc.crash_at", "target": "1", "for_ms": 1, "point": "lunch"},
            "point 'lunch' is none; choose one of after_append",
        ),
        ({"fault": "net.partition", "for_ms": 1, "side": "1"}, "side is '1'; give a list"),
        ({"fault": "net.partition", "for_ms": 1, "side": []}, "in side is 0; give 1 or more"),
        ({"fault": "net.oneway", "sender": "any", "for_ms": 1}, "for receivers only"),
        ({"fault": "zk.failover", "for_ms": 0}, "for_ms is 0; give 1 or more"),
    ],
)
def test_invalid_fault_is_refused_with_one_sentence(document: object, message: str) -> None:
    with pytest.raises(FaultError, match=r"^faults\[0\]: .*") as caught:
        fault_from_json(document, where="faults[0]")

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
