"""The client on three brokers under a real ZooKeeper."""

import asyncio
from time import monotonic

import pytest

from fencepost.impl import client
from fencepost.impl.client import ClientOptions, DefiniteError, NewTopic
from fencepost.impl.core.rules.configuration.redirection import coordinating_partition
from fencepost.spec.vocabulary import ElectionKind
from fencepost.spec.znodes import TopicPartition
from tests.impl.client.blocking import Admin, Blocking, Consumer, Producer
from tests.impl.client.conftest import Running

MOVE_DEADLINE_S = 20.0
OFFSETS, COORDINATED = "__consumer_offsets", 50
"""The internal topic, and its number of partitions."""

pytestmark = pytest.mark.zookeeper


@pytest.fixture(autouse=True)
def whole(cluster: Running) -> None:
    """All brokers are registered, also the one that stood still in the test before."""
    deadline = monotonic() + MOVE_DEADLINE_S
    with Admin(cluster.servers) as admin:
        while len(admin.describe_cluster().brokers) < len(cluster.status.brokers):
            assert monotonic() < deadline, "a broker did not come back"


def test_what_is_produced_is_consumed(cluster: Running) -> None:
    with Admin(cluster.servers) as admin:
        admin.create_topic("orders", partitions=2, replication_factor=3)
        assert admin.list_topics()["orders"] == [0, 1]
        described = admin.describe_topic("orders")
    with Producer(cluster.servers) as producer:
        placed = [producer.send("orders", [f"a{n}", f"b{n}"]) for n in range(4)]
    with Consumer(cluster.servers, "orders", 1, offset=1) as consumer:
        read = consumer.poll()
        assert consumer.end_offset() == consumer.position == 4
        assert consumer.poll(max_wait_ms=0) == []

    assert [(p.partition, p.offset) for p in placed] == [(0, 0), (1, 0), (0, 2), (1, 2)]
    assert [(r.offset, r.value) for r in read] == [(1, "b1"), (2, "a3"), (3, "b3")]
    assert {len(info.isr) for info in described.values()} == {3}


def test_topics_that_cannot_be_are_refused(cluster: Running) -> None:
    with Admin(cluster.servers) as admin:
        with pytest.raises(DefiniteError, match="replication factor 4 with 3 live brokers"):
            admin.create_topic("wide", replication_factor=4)
        with pytest.raises(DefiniteError, match="distinct live brokers"):
            admin.create_topic("twice", assignment=[[1, 1]])
        assert {"wide", "twice"} & admin.list_topics().keys() == set()


def test_coordinators_are_the_same_whichever_broker_is_asked(cluster: Running) -> None:
    with Admin(cluster.servers) as admin:
        found = admin.find_coordinator("billing")
        deadline = monotonic() + MOVE_DEADLINE_S
        while len(admin.list_topics().get(OFFSETS, ())) < COORDINATED:
            assert monotonic() < deadline, "the broker is not told of the internal topic"
        partitions = admin.describe_topic(OFFSETS)
        brokers = admin.describe_cluster().brokers
    for address in brokers.values():
        with Admin(address) as admin:
            assert admin.find_coordinator("billing") == found

    number = coordinating_partition("billing", len(partitions))
    assert found == (partitions[number].leader, brokers[partitions[number].leader])


def test_many_topics_are_created_and_deleted_in_one_request(cluster: Running) -> None:
    wanted = [NewTopic(topic=f"lot-{n}", partitions=2, replication_factor=3) for n in range(100)]
    names = [one.topic for one in wanted]
    with Admin(cluster.servers) as admin:
        created = admin.create_topics([*wanted, NewTopic(topic="no/name")])
        deleted = admin.delete_topics([*names, "lot-none"])
        deadline = monotonic() + MOVE_DEADLINE_S
        while {*names} & admin.list_topics().keys():  # until the controller has told all brokers
            assert monotonic() < deadline

    assert [name for name, error in created.items() if error is not None] == ["no/name"]
    assert str(created["no/name"]).startswith("no/name: INVALID_TOPIC 'no/name' is no topic name")
    assert [name for name, error in deleted.items() if error is not None] == ["lot-none"]


def test_records_of_one_partition_keep_their_order(cluster: Running) -> None:
    async def produce_and_read() -> tuple[list[int], list[str]]:
        async with client.Admin(cluster.servers) as admin:
            await admin.create_topic("many", replication_factor=3)
        async with client.Producer(cluster.servers) as producer:
            sends = [producer.send("many", f"{n}", partition=0) for n in range(1000)]
            placed = await asyncio.gather(*sends)
        async with client.Consumer(cluster.servers, "many") as consumer:
            read = [record.value for _ in range(2) for record in await consumer.poll()]
        return [metadata.offset for metadata in placed], read

    offsets, read = asyncio.run(produce_and_read())

    assert offsets == list(range(1000))
    assert read == [str(n) for n in range(1000)]


def test_no_record_is_lost_or_doubled_when_the_leader_changes(cluster: Running) -> None:
    async def produce_and_follow() -> tuple[set[int], list[str]]:
        async with client.Admin(cluster.servers) as admin:
            await admin.create_topic("moving", replication_factor=3)
            leader = (await admin.describe_topic("moving"))[0].leader
        options = ClientOptions(delivery_timeout_ms=120_000, request_timeout_ms=2_000)
        async with client.Producer(cluster.servers, options=options) as producer:
            await producer.send("moving", "before")
            with cluster.paused(leader):
                sends = (producer.send("moving", f"{n}") for n in range(50))
                during = await asyncio.gather(*sends)
            after = await producer.send("moving", "after")
        read = []
        async with client.Consumer(cluster.servers, "moving") as consumer:
            async for record in consumer:
                read.append(record.value)
                if record.offset == after.offset:
                    break
        return {metadata.broker_id for metadata in during} - {leader}, read

    new_leaders, read = asyncio.run(produce_and_follow())

    assert new_leaders
    assert read == ["before", *map(str, range(50)), "after"]


def moved(admin: Blocking, key: TopicPartition) -> tuple[int, ...]:
    """The replicas of the partition, once it does not move any more."""
    deadline = monotonic() + MOVE_DEADLINE_S
    while key in admin.list_partition_reassignments():
        assert monotonic() < deadline, f"{key} still moves"
    replicas: tuple[int, ...] = admin.describe_topic(key.topic)[key.partition].assigned_replicas
    return replicas


def test_partitions_come_go_and_move(cluster: Running) -> None:
    first, nowhere = TopicPartition("wandering", 0), TopicPartition("wandering", 7)
    with Admin(cluster.servers) as admin, Producer(cluster.servers) as producer:
        admin.create_topic("wandering", assignment=[[1, 2]])
        producer.send("wandering", "kept")
        admin.create_partitions("wandering", 3)
        assert admin.list_topics()["wandering"] == [0, 1, 2]
        admin.remove_partitions("wandering", [1])
        assert admin.list_topics()["wandering"] == [0, 2]

        results = admin.alter_partition_reassignments({first: [3, 1], nowhere: [1]})
        assert results[first] is None
        assert "UNKNOWN_TOPIC_OR_PARTITION" in str(results[nowhere])
        assert moved(admin, first) == (3, 1)

        assert admin.elect_leaders(ElectionKind.PREFERRED, [first]) == {first: None}
        assert admin.describe_topic("wandering")[0].leader == 3
        assert producer.send("wandering", "too", partition=0).offset == 1
    with Consumer(cluster.servers, "wandering") as consumer:
        assert [record.value for record in consumer.poll()] == ["kept", "too"]


def test_what_cannot_be_done_with_partitions_is_refused_at_once(cluster: Running) -> None:
    with Admin(cluster.servers) as admin:
        with pytest.raises(DefiniteError, match="UNKNOWN_TOPIC_OR_PARTITION"):
            admin.create_partitions("nosuch", 2)
        with pytest.raises(DefiniteError, match="UNKNOWN_TOPIC_OR_PARTITION"):
            admin.remove_partitions("nosuch", [0])


def test_a_topic_that_is_created_again_begins_anew(cluster: Running) -> None:
    with Admin(cluster.servers) as admin, Producer(cluster.servers) as producer:
        admin.create_topic("again", replication_factor=3)
        producer.send("again", ["old", "older"])
        admin.delete_topic("again")
        assert "again" not in admin.list_topics()
        admin.create_topic("again", replication_factor=3)
        with pytest.raises(DefiniteError, match="OUT_OF_ORDER_SEQUENCE_NUMBER"):
            producer.send("again", "what came before it is gone")
        assert producer.send("again", "new").offset == 0
    with Consumer(cluster.servers, "again") as consumer:
        assert [record.value for record in consumer.poll()] == ["new"]
