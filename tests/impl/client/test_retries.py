"""Which failures are tried again, under which numbers, and what the error then says."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import BytesIO, TextIOWrapper
from threading import Lock

import pytest

from fencepost.impl.client import (
    Admin as AsyncAdmin,
    ClientError,
    ClientOptions,
    DefiniteError,
    IndefiniteError,
    NewTopic,
    NoBrokerError,
    OffsetOutOfRangeError,
    Producer as AsyncProducer,
    RecordMetadata,
    ThrottledError,
)
from fencepost.impl.client.calls import produce
from fencepost.impl.client.routing import parse_servers
from fencepost.impl.client.tries import Effect, Tries, TryFailedError
from fencepost.spec.vocabulary import ErrorCode
from fencepost.spec.wire import replication_pb2 as wire
from tests.grpc_server import Method, serving
from tests.impl.client.blocking import Admin, Consumer, Producer

QUICK = ClientOptions(
    api_timeout_ms=1000, delivery_timeout_ms=1000, request_timeout_ms=300, retry_backoff_ms=5
)
FAR, PAST = 1e12, 0.0


@dataclass
class FakeBroker:
    """A leader that meets produces with the errors it was given, one each, and then takes them."""

    address: str = ""
    errors: list[str] = field(default_factory=list)
    produces: list[wire.ProduceRequest] = field(default_factory=list)
    metadata_requests: int = 0
    last_producer_id: int = 40
    one_at_a_time: Lock = field(default_factory=Lock)

    def metadata(self, _: wire.MetadataRequest) -> wire.MetadataResponse:
        self.metadata_requests += 1
        host, port = self.address.split(":")
        state = wire.PartitionState(
            topic="t", partition=0, leader=1, isr=[1], assigned_replicas=[1]
        )
        return wire.MetadataResponse(
            error_code="NONE",
            broker_id=1,
            brokers=[wire.BrokerEndpoint(broker_id=1, host=host, port=int(port))],
            partitions=[state],
        )

    def produce(self, request: wire.ProduceRequest) -> wire.ProduceResponse:
        self.produces.append(request)
        error = self.errors.pop(0) if self.errors else "NONE"
        return wire.ProduceResponse(error_code=error, broker_id=1, base_offset=10)

    def init_producer_id(self, _: wire.InitProducerIdRequest) -> wire.InitProducerIdResponse:
        self.last_producer_id += 1
        return wire.InitProducerIdResponse(error_code="NONE", producer_id=self.last_producer_id)

    def fetch(self, _: wire.FetchRequest) -> wire.FetchResponse:
        return wire.FetchResponse(error_code="OFFSET_OUT_OF_RANGE", broker_id=1)

    def list_offsets(self, _: wire.ListOffsetsRequest) -> wire.ListOffsetsResponse:
        return wire.ListOffsetsResponse(error_code="NONE", high_watermark=3, log_end_offset=3)

    def create_topic(self, _: wire.CreateTopicRequest) -> wire.CreateTopicResponse:
        return wire.CreateTopicResponse(error_code=self.errors.pop(0), message="why")

    @property
    def numbers(self) -> list[tuple[int, int, int]]:
        return [(r.producer_id, r.producer_epoch, r.base_sequence) for r in self.produces]


@contextmanager
def broker(*errors: str, fake: FakeBroker | None = None) -> Iterator[FakeBroker]:
    fake = fake or FakeBroker()
    fake.errors = list(errors)
    methods: dict[str, Method] = {
        "Metadata": (fake.metadata, wire.MetadataRequest),
        "Produce": (fake.produce, wire.ProduceRequest),
        "InitProducerId": (fake.init_producer_id, wire.InitProducerIdRequest),
        "Fetch": (fake.fetch, wire.FetchRequest),
        "ListOffsets": (fake.list_offsets, wire.ListOffsetsRequest),
        "CreateTopic": (fake.create_topic, wire.CreateTopicRequest),
    }
    with serving("Replication", methods) as fake.address:
        yield fake


def test_a_retry_has_the_numbers_of_the_first_try_and_looks_for_the_leader() -> None:
    with broker("NOT_LEADER_AFTER_APPEND", "NOT_LEADER_OR_FOLLOWER") as fake:
        with Producer(fake.address, options=QUICK) as producer:
            assert producer.send("t", ["a", "b"]).offset == 10
            producer.send("t", "c")

        assert fake.numbers == [(41, 0, 0)] * 3 + [(41, 0, 2)]
        assert fake.metadata_requests == 3


def test_after_a_batch_that_failed_the_next_producer_epoch_begins() -> None:
    with broker("NONE", "REQUEST_TIMED_OUT", "OUT_OF_ORDER_SEQUENCE_NUMBER") as fake:
        with Producer(fake.address, options=QUICK) as producer:
            producer.send("t", "a")
            with pytest.raises(IndefiniteError, match="may or may not have happened"):
                producer.send("t", "b")
            producer.send("t", "c")

        assert fake.numbers == [(41, 0, 0), (41, 0, 1), (41, 0, 1), (41, 1, 0)]


@dataclass
class BrokerThatCounts(FakeBroker):
    """Takes what comes next under its producer epoch, but refuses the first batch once."""

    next_sequences: dict[int, int] = field(default_factory=dict)
    has_begun: bool = False

    def produce(self, request: wire.ProduceRequest) -> wire.ProduceResponse:
        with self.one_at_a_time:
            self.produces.append(request)
            if not self.has_begun and (request.producer_epoch, request.base_sequence) == (0, 0):
                self.has_begun = True
                return wire.ProduceResponse(error_code=self.errors[0], broker_id=1)
            expected = self.next_sequences.get(request.producer_epoch, 0)
            if request.base_sequence != expected:
                return wire.ProduceResponse(error_code="OUT_OF_ORDER_SEQUENCE_NUMBER", broker_id=1)
            self.next_sequences[request.producer_epoch] = expected + len(request.values)
            return wire.ProduceResponse(error_code="NONE", broker_id=1, base_offset=expected)


BIG = ["r"] * 60
"""Two of them are too many records for one batch."""


async def send_many(address: str, count: int) -> list[RecordMetadata | BaseException]:
    async with AsyncProducer(address, in_flight=3, options=QUICK) as producer:
        sends = [producer.send("t", BIG, partition=0) for _ in range(count)]
        return await asyncio.gather(*sends, return_exceptions=True)


def test_batches_that_overtake_one_come_again_behind_it() -> None:
    with broker("NOT_LEADER_OR_FOLLOWER", fake=BrokerThatCounts()) as fake:
        found = asyncio.run(send_many(fake.address, 5))

    assert isinstance(fake, BrokerThatCounts)
    assert [one.offset for one in found if isinstance(one, RecordMetadata)] == [
        0,
        60,
        120,
        180,
        240,
    ]
    assert {epoch for _, epoch, _ in fake.numbers} == {0}
    assert len({sequence for *_, sequence in fake.numbers}) == 5


def test_behind_a_batch_that_failed_all_in_flight_fail_and_the_next_epoch_begins() -> None:
    with broker("RECORD_LIST_TOO_LARGE", fake=BrokerThatCounts()) as fake:
        found = asyncio.run(send_many(fake.address, 5))

    assert isinstance(fake, BrokerThatCounts)
    failed = [one for one in found if isinstance(one, DefiniteError)]
    assert isinstance(found[0], DefiniteError)
    assert len(failed) + fake.next_sequences.get(1, 0) // len(BIG) == 5
    assert fake.next_sequences.get(0, 0) == 0


@pytest.mark.parametrize(("in_flight", "idempotent"), [(0, True), (6, True), (2, False)])
def test_what_is_in_flight_is_checked(in_flight: int, idempotent: bool) -> None:
    with pytest.raises(ValueError, match=f"in_flight is {in_flight}: give 1 to"):
        AsyncProducer("localhost:1", in_flight=in_flight, idempotent=idempotent)


def test_without_idempotence_an_unknown_end_is_not_tried_again() -> None:
    with broker("NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT") as fake:
        plain = Producer(fake.address, idempotent=False, options=QUICK)
        with plain, pytest.raises(IndefiniteError) as ended:
            plain.send("t", "a")

        assert ended.value.error_code == ErrorCode.REQUEST_TIMED_OUT
        assert fake.numbers == [(0, 0, 0)] * 2


def test_what_was_always_refused_is_definite_when_no_time_is_left_for_another_try() -> None:
    once = ClientOptions(
        delivery_timeout_ms=60_000, request_timeout_ms=60_000, retry_backoff_ms=30_000
    )
    with broker(*["NOT_ENOUGH_REPLICAS"] * 2) as fake:
        producer = Producer(fake.address, options=once)
        with producer, pytest.raises(DefiniteError) as ended:
            producer.send("t", "a")

        assert ended.value.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
        assert len(fake.produces) == 1


def test_what_no_retry_can_cure_is_not_tried_again() -> None:
    with broker("RECORD_LIST_TOO_LARGE") as fake:
        producer = Producer(fake.address, options=QUICK)
        with producer, pytest.raises(DefiniteError, match="Produce of t/0: RECORD_LIST_TOO_LARGE"):
            producer.send("t", "a")

        assert len(fake.produces) == 1


@pytest.mark.parametrize(
    ("error", "kind"), [("REQUEST_TIMED_OUT", IndefiniteError), ("INVALID_TOPIC", DefiniteError)]
)
def test_a_topic_is_asked_for_once(error: str, kind: type[ClientError]) -> None:
    said = f"CreateTopic: {error} why"
    with broker(error) as fake, Admin(fake.address) as admin, pytest.raises(kind, match=said):
        admin.create_topic("t")


def test_an_offset_outside_the_log_names_the_log() -> None:
    with broker() as fake:
        consumer = Consumer(fake.address, "t", offset=9, options=QUICK)
        said = "t/0 has offsets 0 to 3, not 9"
        with consumer, pytest.raises(OffsetOutOfRangeError, match=said):
            consumer.poll()


@pytest.mark.parametrize(
    ("servers", "hint"),
    [
        (["127.0.0.1:1", "127.0.0.1:2"], "nothing listens there: is the cluster up?"),
        (["no..body:1"], "that name has no address: is it spelled right?"),
    ],
)
def test_where_no_broker_listens_the_error_names_the_addresses(
    servers: list[str], hint: str
) -> None:
    one_round = ClientOptions(api_timeout_ms=60_000, bootstrap_timeout_ms=0)
    with (
        Admin(",".join(servers), options=one_round) as admin,
        pytest.raises(NoBrokerError) as error,
    ):
        admin.list_topics()
    assert str(error.value) == f"Metadata: no broker answers at {', '.join(servers)}; {hint}"


def test_a_topic_that_is_not_there_is_told() -> None:
    with broker() as fake:
        producer = Producer(fake.address, options=QUICK)
        with producer, pytest.raises(DefiniteError, match="there is no topic u"):
            producer.send("u", "a")


def test_lines_of_standard_input_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("calls", "producer"):
        monkeypatch.setattr(f"fencepost.impl.client.{module}.RECORD_BYTES_MAX", 3)
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(b"a\nbc\nlong, and more\nd\n")))

    async def play(address: str) -> None:
        async for _ in produce(address, "t", 0, -1, lines=True):
            pass

    said = "line 3 of standard input is longer than 3 bytes, the most of a record; 2 other records"
    with broker() as fake, pytest.raises(DefiniteError, match=said):
        asyncio.run(play(fake.address))
    assert [list(request.values) for request in fake.produces] == [["a"], ["bc"]]
    assert sys.stdin.buffer.read() == b", and more\nd\n"  # not awaited: it may be 200 MB

    with broker() as fake, Producer(fake.address, options=QUICK) as producer:
        with pytest.raises(ValueError, match="the records have 4 bytes; the most of one call: 3"):
            producer.send("t", "long")
        assert not fake.produces


@pytest.mark.parametrize("records", [[], "\udcff"])
def test_what_is_no_record_is_not_sent(records: str | list[str]) -> None:
    with Producer("127.0.0.1:1") as producer, pytest.raises(ValueError, match=r"record|utf-8"):
        producer.send("t", records, partition=0)


def test_acks_are_checked() -> None:
    with pytest.raises(ValueError, match="acks is 2"):
        Producer("127.0.0.1:1", acks=2)
    with pytest.raises(ValueError, match="needs acks -1"):
        Producer("127.0.0.1:1", acks=1)


# One call's tries


def refused(code: ErrorCode) -> TryFailedError:
    return TryFailedError(code)


def test_a_refusal_says_nothing_of_the_try_before_it() -> None:
    tries = Tries("x", FAR, Effect.IDEMPOTENT)
    tries.failed(TryFailedError("UNAVAILABLE"))

    with pytest.raises(IndefiniteError, match="INVALID_REQUEST"):
        tries.failed(refused(ErrorCode.INVALID_REQUEST))


def test_a_read_is_never_indefinite() -> None:
    with pytest.raises(DefiniteError):
        Tries("x", PAST, Effect.NONE).failed(TryFailedError("UNAVAILABLE"))


def test_an_error_of_another_version_may_mean_anything() -> None:
    with pytest.raises(IndefiniteError, match="THROTTLED"):
        Tries("x", FAR, Effect.ONCE).failed(TryFailedError("THROTTLED"))


def test_what_was_not_sent_may_be_sent_again() -> None:
    Tries("x", FAR, Effect.ONCE).failed(TryFailedError("UNAVAILABLE", was_sent=False))


# Addresses


@pytest.mark.parametrize("servers", ["", ",", "host", "host:", ":1", "h:0", "h:65536", "h:1,x"])
def test_what_is_no_address_gets_a_sentence(servers: str) -> None:
    with pytest.raises(ValueError, match="give host:port"):
        parse_servers(servers)


def test_addresses_are_taken_as_kafkas_tools_take_them() -> None:
    assert parse_servers("a:1, b:2,") == ("a:1", "b:2")
    assert parse_servers(["::1:9092"]) == ("::1:9092",)


# The mutation quota


@dataclass
class LimitedBroker(FakeBroker):
    """Refuses as many requests for topics as it was given throttle times, and then takes one."""

    throttles_ms: list[int] = field(default_factory=list)
    asked: list[list[str]] = field(default_factory=list)
    versions: set[int] = field(default_factory=set)

    def create_topics(self, request: wire.CreateTopicsRequest) -> wire.CreateTopicsResponse:
        self.asked.append([one.topic for one in request.topics])
        self.versions.add(request.api_version)
        throttle_ms = self.throttles_ms.pop(0) if self.throttles_ms else 0
        first, *rest = request.topics
        refused = "THROTTLING_QUOTA_EXCEEDED" if throttle_ms else "NONE"
        results = [wire.TopicResult(topic=first.topic, error_code="NONE")]
        results += [wire.TopicResult(topic=one.topic, error_code=refused) for one in rest]
        return wire.CreateTopicsResponse(
            error_code="NONE", topics=results, throttle_time_ms=throttle_ms
        )


def limited(throttles_ms: list[int], options: ClientOptions) -> tuple[LimitedBroker, list[bool]]:
    """What the broker was asked for, and which of three topics were created."""
    fake = LimitedBroker(throttles_ms=throttles_ms)
    methods: dict[str, Method] = {
        "CreateTopics": (fake.create_topics, wire.CreateTopicsRequest),
    }

    async def create(address: str) -> list[bool]:
        async with AsyncAdmin(address, options=options) as admin:
            results = await admin.create_topics(NewTopic(topic=name) for name in "abc")
        assert all(error is None or isinstance(error, ThrottledError) for error in results.values())
        return [error is None for error in results.values()]

    with serving("Replication", methods) as address:
        return fake, asyncio.run(create(address))


def test_throttled_topics_are_asked_for_again_and_no_others() -> None:
    fake, created = limited([5, 5], QUICK)

    assert created == [True, True, True]
    assert fake.asked == [["a", "b", "c"], ["b", "c"], ["c"]]
    assert fake.versions == {7}


def test_a_wait_that_is_longer_than_the_call_ends_it() -> None:
    fake, created = limited([5000], replace(QUICK, api_timeout_ms=50))

    assert (fake.asked, created) == ([["a", "b", "c"]], [True, False, False])


def test_a_client_that_may_not_wait_is_told_at_once() -> None:
    fake, created = limited([5], replace(QUICK, retry_on_quota_violation=False))

    assert (fake.asked, created) == ([["a", "b", "c"]], [True, False, False])


# What the controller alone does


def test_what_another_broker_refuses_is_asked_of_the_controller() -> None:
    """The client knows of the first broker only, which tells where the controller is."""
    taken = LimitedBroker()
    asked: list[wire.CreateTopicsRequest] = []

    def refuse(request: wire.CreateTopicsRequest) -> wire.CreateTopicsResponse:
        asked.append(request)
        return wire.CreateTopicsResponse(error_code=ErrorCode.NOT_CONTROLLER)

    def tell(_: wire.MetadataRequest) -> wire.MetadataResponse:
        endpoints = [
            wire.BrokerEndpoint(broker_id=number, host="127.0.0.1", port=int(at.split(":")[1]))
            for number, at in ((1, first), (2, controller))
        ]
        return wire.MetadataResponse(error_code="NONE", controller_id=2, brokers=endpoints)

    async def create(address: str) -> list[dict[str, ClientError | None]]:
        async with AsyncAdmin(address, options=QUICK) as admin:
            return [await admin.create_topics([NewTopic(topic=name)]) for name in "ab"]

    told: dict[str, Method] = {
        "Metadata": (tell, wire.MetadataRequest),
        "CreateTopics": (refuse, wire.CreateTopicsRequest),
    }
    done: dict[str, Method] = {"CreateTopics": (taken.create_topics, wire.CreateTopicsRequest)}
    with serving("Replication", done) as controller, serving("Replication", told) as first:
        results = asyncio.run(create(first))

    assert results == [{"a": None}, {"b": None}]
    assert taken.asked == [["a"], ["b"]]
    assert [one.header.api_version for one in asked] == [1]
