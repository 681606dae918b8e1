"""A driven node in a role: where most tests of the broker begin."""

from fencepost.impl.core.types.messages import (
    FetchRequest,
    FetchResponse,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    OffsetForLeaderEpochRequest,
    PartitionState,
    ProduceRequest,
    Record,
)
from fencepost.impl.core.types.zookeeper import Delete
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    NO_EPOCH,
    BrokerId,
    ErrorCode,
    LeaderEpoch,
    Offset,
)
from fencepost.spec.znodes import TOPICS
from tests.impl.core.build import T0, command, order, state
from tests.impl.core.driver import Driver

ASSIGNED = (1, 2, 3)


def started(driver: Driver) -> Driver:
    """Ready, while broker 3 is controller with epoch 1; t/0 is on brokers 1, 2 and 3."""
    elect_other(driver, 3)
    driver.create_topic("t", ASSIGNED)
    driver.start()
    return driver


def elect_other(driver: Driver, broker_id: int) -> None:
    """Another broker is controller, in the next controller epoch."""
    driver.register(broker_id)
    driver.make_controller(broker_id)


def beside_controller(driver: Driver) -> Driver:
    """Started, while broker 3 is controller in the next controller epoch."""
    elect_other(driver, 3)
    driver.start()
    return driver


def obey(driver: Driver, *commands: PartitionState, epoch: int = 1) -> list[ErrorCode]:
    """What became of each command, sent as one request."""
    response = driver.deliver(order(*commands, epoch=epoch), LeaderAndIsrResponse)
    assert response.error_code is ErrorCode.NONE
    return [error.error_code for error in response.partitions]


def leading(driver: Driver, *, epoch: int = 1, isr: tuple[int, ...] = ASSIGNED) -> Driver:
    """Started, and leader of t/0."""
    started(driver)
    driver.put_state(T0, state(1, epoch, isr))
    assert obey(driver, command(1, epoch, isr=isr)) == [ErrorCode.NONE]
    return driver


def following(driver: Driver, *, leader: int = 2, epoch: int = 1) -> Driver:
    """Started, and follower of t/0."""
    started(driver)
    driver.put_state(T0, state(leader, epoch, ASSIGNED))
    assert obey(driver, command(leader, epoch)) == [ErrorCode.NONE]
    return driver


def produce(*values: str, acks: int = -1, timeout_ms: int = 1000) -> ProduceRequest:
    """A client's values for t/0."""
    return ProduceRequest(
        topic="t", partition=0, acks=acks, values=values or ("v",), timeout_ms=timeout_ms
    )


def follower_fetch(
    replica_id: int, offset: int, *, epoch: int = 1, wait_ms: int = 0
) -> FetchRequest:
    """A follower's fetch of t/0."""
    return FetchRequest(
        topic="t",
        partition=0,
        replica_id=BrokerId(replica_id),
        leader_epoch=LeaderEpoch(epoch),
        fetch_offset=Offset(offset),
        max_wait_ms=wait_ms,
    )


def consumer_fetch(offset: int, *, wait_ms: int = 0, max_records: int = 100) -> FetchRequest:
    """A consumer's fetch of t/0."""
    return FetchRequest(
        topic="t",
        partition=0,
        fetch_offset=Offset(offset),
        max_wait_ms=wait_ms,
        max_records=max_records,
    )


def replicate(driver: Driver, *followers: int, epoch: int = 1) -> None:
    """These followers have fetched everything, and said so."""
    end = driver.replica(T0).log_end_offset
    for follower in followers:
        driver.deliver(follower_fetch(follower, end, epoch=epoch), FetchResponse)


def last_fetch(driver: Driver) -> FetchRequest:
    """The newest request to a leader, which must be a fetch."""
    request = driver.sent[-1].request
    assert isinstance(request, FetchRequest)
    return request


def last_epoch_request(driver: Driver) -> OffsetForLeaderEpochRequest:
    """The newest request to a leader, which must ask for the end of an epoch."""
    request = driver.sent[-1].request
    assert isinstance(request, OffsetForLeaderEpochRequest)
    return request


def fetched(
    driver: Driver,
    records: tuple[Record, ...] = (),
    *,
    high_watermark: int = 0,
    error: ErrorCode = ErrorCode.NONE,
    epoch: int | None = None,
    log_end: int = -1,
) -> None:
    """The leader has answered the newest fetch."""
    send = driver.sent[-1]
    request = last_fetch(driver)
    answered = request.leader_epoch if epoch is None else LeaderEpoch(epoch)
    if answered == NO_EPOCH:
        answered = driver.replica(T0).leader_epoch
    response = FetchResponse(
        error_code=error,
        broker_id=send.to,
        leader_epoch=answered,
        fetch_offset=request.fetch_offset,
        high_watermark=Offset(high_watermark),
        log_end_offset=Offset(log_end),
        records=records,
    )
    driver.respond(send, response)


def controller_requests(driver: Driver, broker_id: int) -> list[LeaderAndIsrRequest]:
    """The commands sent to a broker, as values."""
    requests = (send.request for send in driver.commands(broker_id))
    return [request for request in requests if isinstance(request, LeaderAndIsrRequest)]


# Topics that another client has deleted


def everything(driver: Driver, path: str = TOPICS) -> list[str]:
    """Every znode below `path`."""
    below = [f"{path}/{name}" for name in driver.zookeeper.children(path)]
    return [*below, *(deep for one in below for deep in everything(driver, one))]


def all_deleted(driver: Driver) -> None:
    """By another client, at once."""
    driver.zookeeper.write(
        driver.outsider,
        tuple(
            Delete(path=path, expected_version=ANY_VERSION)
            for path in sorted(everything(driver), reverse=True)
        ),
    )
