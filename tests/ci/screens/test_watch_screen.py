"""The screen of `fencepost watch` has its size whatever the cluster has."""

from io import StringIO

import pytest
from rich.console import Console

from fencepost.ci.screens.watch_screen import screen, trouble_screen
from fencepost.conformance.adapters.by_hand.snapshot import (
    ClusterSnapshot,
    SeenBroker,
    WatchedPartition,
)
from fencepost.spec.znodes import TopicPartition


def broker(broker_id: int, **what: object) -> SeenBroker:
    usual: dict[str, object] = {
        "broker_id": broker_id,
        "pid": 4_000_000 + broker_id,
        "is_paused": False,
        "broker_epoch": 4_294_967_000 + broker_id,
        "address": "127.0.0.1:40000",
        "leads": 1000,
        "in_sync": 1000,
        "assigned": 1000,
    }
    return SeenBroker(**(usual | what))  # type: ignore[arg-type]


def partition(number: int, topic: str = "orders", **what: object) -> WatchedPartition:
    usual: dict[str, object] = {
        "key": TopicPartition(topic, number),
        "leader": 1,
        "leader_epoch": 12,
        "isr": (1, 2, 3),
        "assigned_replicas": (1, 2, 3),
        "high_watermark": 1_000_000,
        "log_end_offset": 1_000_007,
    }
    return WatchedPartition(**(usual | what))  # type: ignore[arg-type]


def cluster(
    brokers: tuple[SeenBroker, ...],
    partitions: tuple[WatchedPartition, ...] = (),
    faults: tuple[str, ...] = (),
) -> ClusterSnapshot:
    return ClusterSnapshot(
        zookeeper="127.0.0.1:25083",
        level=3,
        controller=1,
        controller_epoch=7,
        brokers=brokers,
        partitions=partitions,
        faults=faults,
    )


def shown(found: ClusterSnapshot) -> list[str]:
    console = Console(width=80, height=24, file=StringIO(), force_terminal=False)
    console.print(screen(found, at="12:00:00"))
    assert isinstance(console.file, StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


LARGE = cluster(
    tuple(broker(n, is_paused=n % 7 == 0) for n in range(1, 51)),
    tuple(partition(n, "a" * 200, isr=tuple(range(1, 51))) for n in range(1000)),
    tuple(f"brokers {n} and {n + 1} are cut from each other" for n in range(60)),
)


@pytest.mark.parametrize(
    "found",
    [LARGE, cluster((broker(1),)), cluster(tuple(map(broker, (1, 2, 3))), (partition(0),))],
    ids=["large", "empty", "small"],
)
def test_the_screen_fits_80_by_24(found: ClusterSnapshot) -> None:
    lines = shown(found)

    assert len(lines) <= 24
    assert [line for line in lines if len(line) > 80] == []


def test_what_does_not_fit_is_counted() -> None:
    lines = shown(LARGE)

    assert [line for line in lines if "more partitions" in line]
    assert [line for line in lines if line == "and 57 more faults"]
    assert [line for line in lines if line.startswith("+44")]


def test_all_of_a_small_cluster_is_there() -> None:
    found = cluster(
        (broker(1), broker(2, pid=None, broker_epoch=None), broker(3, is_paused=True)),
        (partition(4, leader=None, isr=()),),
        ("broker 2 is dead",),
    )
    text = "\n".join(shown(found))

    for what in (
        "controller 1, epoch 7",
        "1 *",
        "dead",
        "stands still",
        "orders/4",
        "none",
        "1,2,3",
        "1000007",
        "FAULT broker 2 is dead",
    ):
        assert what in text


def test_an_offset_that_is_not_told_makes_no_lag() -> None:
    assert partition(0).lag == 7
    assert partition(0, high_watermark=None).lag is None


def test_a_cluster_that_is_away_is_told() -> None:
    console = Console(width=80, file=StringIO())
    console.print(trouble_screen("the ZooKeeper does not answer", at="12:00:00"))
    assert isinstance(console.file, StringIO)

    assert "the ZooKeeper does not answer" in console.file.getvalue()
