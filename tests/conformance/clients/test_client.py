"""The client against a server on the loopback that answers what each test wants."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fencepost.conformance.adapters.grpc_transport import GrpcTransport
from fencepost.conformance.clients.client import RoutedClient
from fencepost.conformance.clients.recorder import TraceWriter
from fencepost.conformance.clients.transport import ClusterUnreachableError
from fencepost.fault_injection.workload.config_operations import ENTRIES_METHOD, ConfigChange
from fencepost.spec.config_store import ConfigEntity, EntityKind
from fencepost.spec.trace import Kind, LamportClock, TraceEvent, read_trace
from fencepost.spec.vocabulary import ErrorCode, Outcome
from fencepost.spec.wire import replication_pb2 as wire
from fencepost.spec.wire.conventions import CONTROLLER_VERSION
from fencepost.spec.znodes import TopicPartition
from tests.grpc_server import Method, serving

PARTITION = TopicPartition("orders", 0)
BROKER_ID = 7


@dataclass
class FakeBroker:
    """One leader of one partition, with a list as its log."""

    address: str = ""
    log: list[str] = field(default_factory=list)
    produce_error: str = "NONE"
    leader: int = BROKER_ID
    metadata_requests: int = 0
    versions: list[int] = field(default_factory=list)
    """Of the changes of a configuration that were asked for."""
    silent: threading.Event = field(default_factory=threading.Event)
    """Once cleared, a produce is executed and never answered."""

    def __post_init__(self) -> None:
        self.silent.set()

    def metadata(self, _: wire.MetadataRequest) -> wire.MetadataResponse:
        self.metadata_requests += 1
        host, port = self.address.split(":")
        return wire.MetadataResponse(
            error_code="NONE",
            broker_id=BROKER_ID,
            controller_id=BROKER_ID,
            controller_epoch=4,
            brokers=[wire.BrokerEndpoint(broker_id=BROKER_ID, host=host, port=int(port))],
            partitions=[
                wire.PartitionState(
                    topic="orders",
                    partition=0,
                    leader=self.leader,
                    leader_epoch=2,
                    isr=[BROKER_ID],
                    assigned_replicas=[BROKER_ID],
                )
            ],
        )

    def produce(self, request: wire.ProduceRequest) -> wire.ProduceResponse:
        if self.produce_error != "NONE":
            return wire.ProduceResponse(
                error_code=self.produce_error, broker_id=BROKER_ID, base_offset=-1
            )
        base_offset = len(self.log)
        self.log.extend(request.values)
        self.silent.wait(5)
        return wire.ProduceResponse(
            error_code="NONE",
            broker_id=BROKER_ID,
            leader_epoch=2,
            base_offset=base_offset,
            high_watermark=len(self.log),
        )

    def alter(
        self, request: wire.IncrementalAlterConfigsRequest
    ) -> wire.IncrementalAlterConfigsResponse:
        self.versions.append(request.header.api_version)
        return wire.IncrementalAlterConfigsResponse(error_code="NONE")

    def fetch(self, request: wire.FetchRequest) -> wire.FetchResponse:
        found = self.log[request.fetch_offset : request.fetch_offset + request.max_records]
        return wire.FetchResponse(
            error_code="NONE",
            broker_id=BROKER_ID,
            leader_epoch=2,
            fetch_offset=request.fetch_offset,
            high_watermark=len(self.log),
            log_end_offset=len(self.log),
            records=[wire.Record(leader_epoch=2, value=value) for value in found],
        )


@contextmanager
def cluster() -> Iterator[FakeBroker]:
    fake = FakeBroker()
    methods: dict[str, Method] = {
        "Metadata": (fake.metadata, wire.MetadataRequest),
        "Produce": (fake.produce, wire.ProduceRequest),
        "Fetch": (fake.fetch, wire.FetchRequest),
        "IncrementalAlterConfigs": (fake.alter, wire.IncrementalAlterConfigsRequest),
    }
    with serving("Replication", methods) as address:
        fake.address = address
        yield fake
        fake.silent.set()


@pytest.fixture
def transport() -> Iterator[GrpcTransport]:
    shared = GrpcTransport()
    yield shared
    shared.close()


def client_of(address: str, transport: GrpcTransport, folder: Path) -> RoutedClient:
    recorder = TraceWriter(folder, run_id="r1", node="client-1", clock=LamportClock())
    return RoutedClient(lambda: [address], transport=transport, recorder=recorder)


def lines(folder: Path) -> list[TraceEvent]:
    return read_trace(folder / "trace-client-1.ndjson").events


def test_produce_is_traced_before_and_after(transport: GrpcTransport, tmp_path: Path) -> None:
    with cluster() as fake:
        answer = client_of(fake.address, transport, tmp_path).produce(PARTITION, ["a", "b"])

    invoke, complete = lines(tmp_path)
    assert answer.outcome is Outcome.OK
    assert (invoke.kind, invoke.values, invoke.acks) == (Kind.INVOKE, ["a", "b"], -1)
    assert (complete.kind, complete.offset, complete.high_watermark) == (Kind.COMPLETE, 0, 2)
    assert (complete.op_id, complete.inv_ns) == (invoke.op_id, invoke.mono_ns)
    assert (complete.broker_id, complete.leader_epoch) == (BROKER_ID, 2)
    assert complete.error_code is None
    assert complete.values == ["a", "b"]


def test_change_is_asked_for_in_the_version_that_it_says(
    transport: GrpcTransport, tmp_path: Path
) -> None:
    change = ConfigChange(ENTRIES_METHOD, ConfigEntity(EntityKind.TOPIC, ("t",)), {"a": "1"})
    with cluster() as fake:
        client = client_of(fake.address, transport, tmp_path)
        client.refresh()
        told = [
            client.change_config(BROKER_ID, one)["outcome"]
            for one in (change, change._replace(is_for_controller=True))
        ]

    assert fake.versions == [0, CONTROLLER_VERSION]
    assert told == [Outcome.OK, Outcome.OK]


def test_fetch_records_what_served_it(transport: GrpcTransport, tmp_path: Path) -> None:
    with cluster() as fake:
        fake.log = ["a", "b", "c"]
        answer = client_of(fake.address, transport, tmp_path).fetch(PARTITION, 1)

    complete = lines(tmp_path)[1]
    assert answer.values == ("b", "c")
    assert complete.values == ["b", "c"]
    assert complete.record_epochs == [2, 2]
    assert (complete.offset, complete.high_watermark, complete.log_end_offset) == (1, 3, 3)


@pytest.mark.parametrize(
    ("error_code", "outcome"),
    [
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, Outcome.DEFINITE_ERROR),
        (ErrorCode.NOT_ENOUGH_REPLICAS, Outcome.DEFINITE_ERROR),
        (ErrorCode.REQUEST_TIMED_OUT, Outcome.INDEFINITE),
        (ErrorCode.NOT_LEADER_AFTER_APPEND, Outcome.INDEFINITE),
        ("AN_ERROR_OF_TOMORROW", Outcome.INDEFINITE),
    ],
)
def test_error_code_decides_how_certain_a_produce_is(
    error_code: str, outcome: Outcome, transport: GrpcTransport, tmp_path: Path
) -> None:
    with cluster() as fake:
        fake.produce_error = error_code
        client_of(fake.address, transport, tmp_path).produce(PARTITION, ["a"])

    complete = lines(tmp_path)[1]
    assert (complete.outcome, complete.error_code) == (outcome, error_code)
    assert complete.offset is None


def test_produce_without_answer_is_indefinite_and_may_have_happened(
    transport: GrpcTransport, tmp_path: Path
) -> None:
    with cluster() as fake:
        client = client_of(fake.address, transport, tmp_path)
        fake.silent.clear()
        answer = client.produce(PARTITION, ["a"], timeout_ms=10)

        assert answer.outcome is Outcome.INDEFINITE
        assert answer.error_code == "DEADLINE_EXCEEDED"
        assert fake.log == ["a"]


def test_produce_to_a_dead_broker_is_surely_without_effect(
    transport: GrpcTransport, tmp_path: Path
) -> None:
    with cluster() as fake:
        client = client_of(fake.address, transport, tmp_path)
        client.refresh()
        address = fake.address
    fresh = GrpcTransport()
    with_view = client_of(address, fresh, tmp_path / "fresh")
    with_view.routing_view = client.routing_view

    answer = with_view.produce(PARTITION, ["a"])

    fresh.close()
    assert answer.outcome is Outcome.DEFINITE_ERROR
    assert answer.error_code == "UNAVAILABLE"


def test_partition_without_leader_is_sent_nothing_and_the_trace_says_so(
    transport: GrpcTransport, tmp_path: Path
) -> None:
    with cluster() as fake:
        fake.leader = -1
        answer = client_of(fake.address, transport, tmp_path).produce(PARTITION, ["a"])

    invoke, complete = lines(tmp_path)
    assert answer.outcome is Outcome.DEFINITE_ERROR
    assert fake.log == []
    assert (invoke.kind, invoke.values) == (Kind.INVOKE, ["a"])
    assert (complete.outcome, complete.error_code) == (
        Outcome.DEFINITE_ERROR,
        "BROKER_NOT_AVAILABLE",
    )
    assert complete.broker_id is None


def test_routing_view_is_read_again_after_an_error_only(
    transport: GrpcTransport, tmp_path: Path
) -> None:
    with cluster() as fake:
        client = client_of(fake.address, transport, tmp_path)
        client.produce(PARTITION, ["a"])
        client.produce(PARTITION, ["b"])
        before = fake.metadata_requests
        fake.produce_error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        client.produce(PARTITION, ["c"])
        client.produce(PARTITION, ["d"])

    assert before == 1
    assert fake.metadata_requests == 2


def test_unreachable_cluster_says_who_was_asked(transport: GrpcTransport, tmp_path: Path) -> None:
    client = client_of("127.0.0.1:1", transport, tmp_path)

    with pytest.raises(ClusterUnreachableError, match=r"no broker answers at 127\.0\.0\.1:1"):
        client.refresh()
