"""What an unmodified broker leaves behind becomes lines of our trace."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from fencepost.conformance.adapters.implementation import RunSite
from fencepost.conformance.adapters.kafka.disk.records import new_batch
from fencepost.conformance.adapters.kafka.kraft import observations as kraft
from fencepost.conformance.adapters.kafka.started import STARTED
from fencepost.conformance.adapters.kafka.with_zookeeper.dialect import KAFKA_DIALECT, in_words
from fencepost.conformance.adapters.kafka.with_zookeeper.observations import broker_lines
from fencepost.conformance.checks.generations import is_flagged
from fencepost.fault_injection.zookeeper.transaction_log import (
    Transaction,
    TransactionKind,
    to_trace_events,
)
from fencepost.spec.trace import TraceEvent
from fencepost.spec.znodes import MalformedZnodeError, TopicPartition, parse_leader_and_isr

DAY = "2026-01-02 03:04:"
OLD = (
    "TRACE Broker 1 received LeaderAndIsr request PartitionState(controllerEpoch=2, leader=1, "
    "leaderEpoch=3, isr={isr}, zkVersion=4, replicas=1,2) correlation id 5 from controller 2 "
    "epoch 2 for partition {partition} (state.change.logger)"
)
OLD_DONE = (
    "TRACE Broker 1 completed LeaderAndIsr request correlationId 5 from controller 2 epoch 2 for "
    "the become-leader transition for partition my-topic-0 (state.change.logger)"
)
NEW = (
    "TRACE [Broker id=1] Received LeaderAndIsr request LeaderAndIsrPartitionState("
    "topicName='my-topic', partitionIndex=0, controllerEpoch=2, leader=1, leaderEpoch=3, "
    "isr=[2, 1], {version}=4, replicas=[1, 2], addingReplicas=[], removingReplicas=[], "
    "isNew=false) correlation id 5 from controller 2 epoch 2 (state.change.logger)"
)
NEW_DONE = OLD_DONE.replace("Broker 1 completed", "[Broker id=1] Completed")
BY_RELEASE = {
    "0.10": (OLD.format(isr="[2, 1]", partition="[my-topic,0]"), OLD_DONE),
    "0.11": (OLD.format(isr="2,1", partition="[my-topic,0]"), OLD_DONE),
    "2.1": (
        OLD.format(isr="2,1", partition="my-topic-0").replace(
            "Broker 1 received", "[Broker id=1] Received"
        ),
        NEW_DONE,
    ),
    "2.6": (NEW.format(version="zkVersion"), NEW_DONE),
    "3.9": (NEW.format(version="partitionEpoch"), NEW_DONE),
}


def observed(
    folder: Path, *zookeeper: Transaction, may_lose_records: bool = False
) -> list[TraceEvent]:
    in_order = to_trace_events(map(in_words, zookeeper), "run")
    site = RunSite(
        folder=folder, run_id="run", broker_ids=(1,), unclean_leader_election=may_lose_records
    )
    return list(broker_lines(site, list(in_order)))


def kraft_lines(folder: Path, *history: TraceEvent) -> list[TraceEvent]:
    site = RunSite(folder=folder, run_id="run", broker_ids=(1,))
    return list(kraft.broker_lines(site, (1,), history))


def log(folder: Path, *lines: str) -> None:
    path = folder / "processes" / "broker-1.observed.log"
    path.parent.mkdir(exist_ok=True)
    dated = (f"[{DAY}{second:02},000] {line}\n" for second, line in enumerate(lines))
    path.write_text("".join(dated))


@pytest.mark.parametrize("release", BY_RELEASE)
def test_a_command_counts_when_it_was_completed(release: str, tmp_path: Path) -> None:
    received, completed = BY_RELEASE[release]
    log(tmp_path, STARTED, received)
    assert not observed(tmp_path)
    log(tmp_path, STARTED, received, completed)

    (event,) = observed(tmp_path)

    assert (event.node, event.incarnation, event.seq) == ("broker-1", 1, 0)
    assert (event.action, event.topic, event.partition) == ("BecomeLeader", "my-topic", 0)
    assert (event.leader, event.leader_epoch, event.isr) == (1, 3, [1, 2])
    assert (event.controller_id, event.controller_epoch, event.znode_version) == (2, 2, 4)


@pytest.mark.parametrize("release", BY_RELEASE)
def test_a_command_that_is_aborted_is_not_obeyed(release: str, tmp_path: Path) -> None:
    received, completed = BY_RELEASE[release]
    is_old = "Broker 1 received" in received
    log(
        tmp_path,
        STARTED,
        received,
        ("Broker 1 received" if is_old else "[Broker id=1] Received")
        + " LeaderAndIsrRequest with correlation id 5 from controller 2 epoch 2 for partition "
        + ("[my-topic,0] " if is_old else "my-topic-0 (last update controller epoch 2) ")
        + "but cannot become follower since the new leader -1 is unavailable. (s)",
        completed,
    )

    assert observed(tmp_path) == []


def test_a_leader_tells_its_log_end_and_what_it_commits(tmp_path: Path) -> None:
    received, completed = BY_RELEASE["3.9"]
    begun = completed.replace("Completed", "Handling").replace("for the", "starting the")
    log(
        tmp_path,
        STARTED,
        received,
        begun,
        "INFO [Broker id=1] Leader my-topic-0 starts at leader epoch 3 from offset 9 with (s)",
        completed,
        "DEBUG [Partition my-topic-0 broker=1] High watermark updated from (offset=8, segment=[0:"
        "0]) to (offset=10, segment=[0:80]) (kafka.cluster.Partition)",
    )

    leads, advance = observed(tmp_path)

    assert (leads.action, leads.leader_epoch, leads.log_end_offset) == ("BecomeLeader", 3, 9)
    assert (advance.action, advance.leader_epoch) == ("AdvanceHighWatermark", 3)
    assert (advance.high_watermark, advance.log_end_offset) == (10, None)


def test_what_is_elected_while_the_brokers_end_tells_no_log(tmp_path: Path) -> None:
    received, completed = BY_RELEASE["3.9"]
    begun = completed.replace("Completed", "Handling").replace("for the", "starting the")
    starts = "INFO [Broker id=1] Leader my-topic-0 starts at leader epoch 3 from offset 9 with (s)"
    advanced = (
        "DEBUG [Partition my-topic-0 broker=1] High watermark updated from (offset=8, segment=[0:"
        "0]) to (offset=10, segment=[0:80]) (kafka.cluster.Partition)"
    )
    log(tmp_path, STARTED, received, begun, starts, completed, advanced)
    in_time = datetime.strptime(f"{DAY}03", "%Y-%m-%d %H:%M:%S").astimezone().timestamp()
    site = RunSite(folder=tmp_path, run_id="run", broker_ids=(1,), ended_ms=int(in_time * 1000))

    (leads,) = broker_lines(site, [])

    assert (leads.action, leads.leader_epoch, leads.log_end_offset) == ("BecomeLeader", 3, None)


def test_each_process_of_a_broker_is_an_incarnation(tmp_path: Path) -> None:
    log(tmp_path, STARTED, *BY_RELEASE["3.9"], STARTED, *BY_RELEASE["3.9"])

    assert [(event.incarnation, event.seq) for event in observed(tmp_path)] == [(1, 0), (2, 0)]


def znode(path: str, data: str, zxid: int, *, second: float = 0) -> Transaction:
    at = datetime.strptime(f"{DAY}00", "%Y-%m-%d %H:%M:%S").astimezone()
    return Transaction(
        zxid=zxid,
        session_id=7,
        cxid=1,
        wall_ms=int((at.timestamp() + second) * 1000),
        kind=TransactionKind.CREATE,
        path=path,
        data=data.encode(),
        version=0,
    )


def test_a_command_is_about_the_incarnation_that_was_created_last(tmp_path: Path) -> None:
    log(tmp_path, STARTED, *BY_RELEASE["3.9"], *BY_RELEASE["3.9"])
    path = "/brokers/topics/my-topic/partitions/0/state"
    state = '{"controller_epoch": 1, "leader": 1, "version": 1, "leader_epoch": 0, "isr": [1]}'
    first, second = znode(path, state, 5, second=0.5), znode(path, state, 9, second=2.5)

    assert [e.partition_incarnation for e in observed(tmp_path, first, second)] == [5, 9]
    assert {e.partition_incarnation for e in observed(tmp_path, first)} == {None}


def test_zookeeper_tells_which_session_a_broker_has_and_its_epoch_as_controller(
    tmp_path: Path,
) -> None:
    found = observed(
        tmp_path,
        znode("/brokers/ids/1", '{"endpoints": []}', 1),
        znode("/controller_epoch", "1", 2),
        znode("/controller", '{"brokerid": 1}', 2),
    )

    assert [event.action for event in found] == ["RegisterBroker", "ElectController"]
    assert {event.session_id for event in found} == {7}
    assert found[1].controller_epoch == 1


@pytest.mark.parametrize("may_lose_records", [False, True])
def test_a_leader_outside_the_isr_is_an_unclean_election_where_it_is_allowed(
    tmp_path: Path, may_lose_records: bool
) -> None:
    state = '{{"controller_epoch": 1, "leader": {0}, "leader_epoch": {1}, "isr": [{0}]}}'
    path = "/brokers/topics/my-topic/partitions/0/state"

    found = observed(
        tmp_path,
        znode("/brokers/ids/1", '{"endpoints": []}', 1),
        znode("/controller_epoch", "1", 2),
        znode("/controller", '{"brokerid": 1}', 2),
        znode(path, state.format(1, 0), 3),
        replace(znode(path, state.format(2, 1), 4), kind=TransactionKind.SET_DATA, version=1),
        may_lose_records=may_lose_records,
    )

    elected = [event for event in found if is_flagged(event)]
    assert [(event.leader, event.leader_epoch, event.isr) for event in elected] == (
        [(2, 1, [2])] if may_lose_records else []
    )


def test_what_a_replica_holds_after_the_run_is_read_from_its_disk(tmp_path: Path) -> None:
    data = tmp_path / "broker-1" / "logs"
    for topic in ("orders-0", "__consumer_offsets-0"):
        (data / topic).mkdir(parents=True)
        (data / topic / "00000000000000000000.log").write_bytes(new_batch(["a", "b"]))
    (data / "replication-offset-checkpoint").write_text("0\n1\norders 0 9\n")

    append, recovered = observed(tmp_path)

    assert (append.topic, append.offset, append.values) == ("orders", 0, ["a", "b"])
    assert append.record_epochs == [0, 0]
    assert (recovered.log_end_offset, recovered.high_watermark) == (2, 2)


STATE = '{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":3,"isr":[3,2]}'


def test_the_state_of_a_partition_is_that_of_our_texts() -> None:
    key = TopicPartition("orders", 0)
    path = KAFKA_DIALECT.state_path(key)

    written = in_words(znode(path, STATE, 1))

    assert written.path == "/brokers/topics/orders/0/leaderAndISR"
    assert written.data is not None
    found = parse_leader_and_isr(written.path, written.data)
    assert (found.leader, found.leader_epoch, found.isr) == (2, 3, frozenset({2, 3}))
    assert found == KAFKA_DIALECT.parse_state(path, STATE.encode())


def test_a_registration_is_found_at_its_plain_listener() -> None:
    data = b'{"endpoints":["SSL://h:1","PLAINTEXT://127.0.0.1:9092"],"version":4}'

    assert KAFKA_DIALECT.parse_address("/brokers/ids/1", data) == "127.0.0.1:9092"
    with pytest.raises(MalformedZnodeError, match="no endpoint is a plain one"):
        KAFKA_DIALECT.parse_address("/brokers/ids/1", b'{"endpoints":[]}')


def test_what_has_no_counterpart_stays_as_it_is() -> None:
    other = znode("/config/topics/orders", "{}", 1)

    assert in_words(other) is other


@pytest.mark.parametrize("path", ["/brokers/topics/t", "/brokers/topics/t/partitions/0/state"])
def test_a_document_that_cannot_be_read_stays_as_it_is(path: str) -> None:
    malformed = znode(path, "{", 0)

    assert in_words(malformed) is malformed


KRAFT = (
    "INFO [BrokerLifecycleManager id=1] Successfully registered broker 1 with broker epoch 8 "
    "(kafka.server.BrokerLifecycleManager)",
    "INFO [QuorumController id=1] Becoming the active controller at epoch 4, next write offset 7. "
    "(org.apache.kafka.controller.QuorumController)",
    "INFO [Broker id=1] Leader my-topic-1 with topic id Some(qBLHwRCYTe2fovcZ0nPmww) starts at "
    "leader epoch 2 from offset 5 with partition epoch 3, high watermark 5, ISR [3,1], adding "
    "replicas [] and removing replicas [] . Previous leader Some(2) and previous leader epoch was "
    "1. (state.change.logger)",
    "INFO [Broker id=1] Follower my-topic-0 starts at leader epoch 0 from offset 0 with partition "
    "epoch 6 and high watermark 0. Current leader is 3. Previous leader Some(3) and previous "
    "leader epoch was 0. (state.change.logger)",
    "INFO [Broker id=1] Skipped the become-follower state change for my-topic-0 with topic id "
    "Some(qBLHwRCYTe2fovcZ0nPmww) and partition state LeaderAndIsrPartitionState(topicName="
    "'my-topic', partitionIndex=0, controllerEpoch=-1, leader=3, leaderEpoch=0, isr=[1, 3], "
    "partitionEpoch=7, replicas=[1, 3], addingReplicas=[], removingReplicas=[], isNew=false, "
    "leaderRecoveryState=0) since it is already a follower with leader epoch 0. "
    "(state.change.logger)",
)


def test_a_node_in_kraft_mode_tells_its_registration_elections_and_leader_epochs(
    tmp_path: Path,
) -> None:
    log(tmp_path, STARTED, *KRAFT)

    registered, elected, leads, follows, learns = kraft_lines(tmp_path)

    assert (registered.action, elected.action) == ("RegisterBroker", "ElectController")
    assert (elected.controller_id, elected.controller_epoch) == (1, 4)
    assert (leads.action, leads.topic, leads.partition) == ("BecomeLeader", "my-topic", 1)
    assert (leads.leader, leads.leader_epoch, leads.isr) == (1, 2, [1, 3])
    assert (follows.action, follows.topic, follows.partition) == ("BecomeFollower", "my-topic", 0)
    assert (follows.leader, follows.leader_epoch, follows.znode_version) == (3, 0, 6)
    assert (learns.action, learns.leader, learns.leader_epoch) == ("BecomeFollower", 3, 0)
    assert (learns.isr, learns.znode_version) == ([1, 3], 7)


def test_a_later_state_of_an_epoch_is_told_as_release_4_4_writes_it(tmp_path: Path) -> None:
    log(
        tmp_path,
        STARTED,
        "INFO [Broker id=1] Skipped the become-leader state change for my-topic-0 with topic id "
        "Some(qBLHwRCYTe2fovcZ0nPmww), partition registration PartitionRegistration(replicas=[1, "
        "3], directories=[AAAAAAAAAAAAAAAAAAAAAA, AAAAAAAAAAAAAAAAAAAAAA], isr=[3, 1], "
        "removingReplicas=[], addingReplicas=[], elr=[], lastKnownElr=[], leader=1, "
        "leaderRecoveryState=RECOVERED, leaderEpoch=2, partitionEpoch=7) and isNew=false since it "
        "is already the leader with leader epoch 2. (state.change.logger)",
    )

    (learns,) = kraft_lines(tmp_path)

    assert (learns.action, learns.topic, learns.partition) == ("BecomeLeader", "my-topic", 0)
    assert (learns.leader, learns.leader_epoch) == (1, 2)
    assert (learns.isr, learns.znode_version) == ([1, 3], 7)
