"""What a KRaft cluster publishes, as its nodes tell it."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from fencepost.conformance.adapters.kafka import wire
from fencepost.conformance.adapters.kafka.kraft import state as kraft_state
from fencepost.conformance.adapters.kafka.kraft.state import BrokerEpoch, MetadataState
from fencepost.conformance.adapters.kafka.started import STARTED
from fencepost.conformance.adapters.kafka.wire import BrokerSocket
from fencepost.spec.znodes import TopicPartition
from tests.conformance.adapters.kafka.fake_broker import Answers, fake_broker

KEY = TopicPartition("orders", 0)


def metadata(leader: int, *live: int) -> dict[str, Any]:
    """Of one partition on three nodes, of which some are live and in sync."""
    partition = {
        "error_code": ErrorCode.none,
        "partition_index": 0,
        "leader_id": leader,
        "leader_epoch": 4,
        "replica_nodes": [1, 2, 3],
        "isr_nodes": list(live),
        "offline_replicas": [],
    }
    topic = {
        "error_code": ErrorCode.none,
        "name": "orders",
        "is_internal": False,
        "partitions": [partition],
    }
    brokers = [{"node_id": one, "host": "h", "port": one, "rack": None} for one in live]
    return {"brokers": brokers, "cluster_id": "c", "controller_id": 1, "topics": [topic]}


def quorum(leader: int, epoch: int, error: ErrorCode = ErrorCode.none) -> dict[str, Any]:
    partition = {
        "partition_index": 0,
        "error_code": error,
        "leader_id": leader,
        "leader_epoch": epoch,
        "high_watermark": 9,
        "current_voters": [],
        "observers": [],
    }
    topic = {"topic_name": "__cluster_metadata", "partitions": [partition]}
    return {"error_code": ErrorCode.none, "topics": [topic]}


@pytest.fixture
def nodes() -> dict[int, Answers]:
    """What each of two nodes answers at its two listeners."""
    follows = quorum(0, 0, ErrorCode.not_leader_or_follower)
    return {
        1: {wire.METADATA: metadata(2, 1, 2), wire.DESCRIBE_QUORUM: follows},
        2: {wire.METADATA: metadata(2, 1, 2), wire.DESCRIBE_QUORUM: quorum(2, 7)},
    }


@pytest.fixture
def state(nodes: dict[int, Answers], tmp_path: Path) -> Iterator[MetadataState]:
    with ExitStack() as stack:
        at = {node: stack.enter_context(fake_broker(told)) for node, told in nodes.items()}
        logs = {node: tmp_path / f"broker-{node}.log" for node in nodes}
        logs[2].write_text("Successfully registered broker 2 with broker epoch 12\n")
        for controller in (101, 102):
            logs[controller] = tmp_path / f"broker-{controller}.log"
            logs[controller].write_text(f"{STARTED}\n")
        found = MetadataState(at, {101: at[1], 102: at[2]}, logs)
        stack.callback(found.close)
        yield found


def test_leader_isr_and_live_brokers_are_those_of_the_metadata(state: MetadataState) -> None:
    found = state.state_of(KEY)

    assert found is not None
    assert (int(found.leader), int(found.leader_epoch), sorted(found.isr)) == (2, 4, [1, 2])
    assert state.live_brokers() == [1, 2]
    assert state.assignments() == {KEY: (1, 2, 3)}
    assert not state.is_in_sync(KEY)
    assert state.state_of(TopicPartition("orders", 1)) is None


def test_a_live_broker_is_registered_under_the_epoch_of_its_log(state: MetadataState) -> None:
    found = state.registration(2)

    assert found is not None
    assert (found.zxid, found.address) == (12, "h:2")
    assert state.registration(1) is None


def test_a_controller_is_there_under_the_number_of_its_run_while_it_answers(
    state: MetadataState, nodes: dict[int, Answers], tmp_path: Path
) -> None:
    first = state.registration(101)
    with (tmp_path / "broker-101.log").open("a") as log:
        log.write(f"{STARTED}\n")
    second = state.registration(101)
    nodes[1].clear()

    assert first is not None
    assert second is not None
    assert (first.zxid, second.zxid) == (1, 2)
    assert state.registration(101) is None


def test_one_answer_serves_all_questions_of_one_look(
    nodes: dict[int, Answers], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    class Counted(BrokerSocket):
        def ask(self, kind: int, request: Mapping[str, Any], deadline_s: float) -> Any:  # noqa: ANN401
            asked.append(kind)
            return super().ask(kind, request, deadline_s)

    monkeypatch.setattr(kraft_state, "BrokerSocket", Counted)
    monkeypatch.setattr(kraft_state, "LOOK_S", 60.0)

    with fake_broker(nodes[1]) as address:
        state = MetadataState({1: address}, {}, {1: tmp_path / "log"})
        for _ in range(3):
            assert not state.is_in_sync(KEY)
        state.close()

    assert asked == [wire.METADATA]


def test_the_broker_epoch_is_that_of_the_last_whole_line(tmp_path: Path) -> None:
    log = tmp_path / "observed.log"
    epoch = BrokerEpoch(log)
    line = "Successfully registered broker 2 with broker epoch {}"
    assert epoch.last() is None

    log.write_text(line.format(12) + "\n" + line.format(1))
    assert epoch.last() == 12

    with log.open("a") as file:
        file.write("34\n")
    assert epoch.last() == 134
    assert epoch.last() == 134


def test_the_leader_of_the_quorum_is_the_controller(
    state: MetadataState, nodes: dict[int, Answers]
) -> None:
    assert state.controller() == 2

    nodes[1][wire.DESCRIBE_QUORUM] = quorum(1, 8)
    assert state.controller() == 1


def test_a_paused_node_is_passed_over(state: MetadataState, nodes: dict[int, Answers]) -> None:
    nodes[1].clear()
    nodes[2][wire.METADATA] = metadata(-1, 2)

    assert state.live_brokers() == [2]
    assert state.leader_of(KEY) is None


def test_nothing_is_published_while_no_node_answers(
    state: MetadataState, nodes: dict[int, Answers]
) -> None:
    for told in nodes.values():
        told.clear()

    assert not state.live_brokers()
    assert state.controller() is None
    assert state.state_of(KEY) is None
