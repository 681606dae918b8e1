"""The first command to a broker names all its partitions."""

import json

from fencepost.conformance.checks.init_names_all import check
from fencepost.spec.vocabulary import Action
from tests.conformance.checks.trace_builder import Trace


def topic(trace: Trace, name: str, zxid: int, *replicas: list[int], deleted: bool = False) -> None:
    """The znode of the topic gives its partitions these replicas."""
    partitions = {str(number): listed for number, listed in enumerate(replicas)}
    document = {"version": 1, "partitions": partitions, "is_deleted": deleted}
    path = f"/brokers/topics/{name}"
    trace.zookeeper("SetData", path, json.dumps(document), session=1, zxid=zxid)


def init(trace: Trace, *partitions: str, zxid: int | None = 10) -> None:
    """The controller sends broker 2 an INIT that rests on a reading of that transaction."""
    told = {"peer": "broker-2", "controller_epoch": 1, "zxid": zxid, "partitions": partitions}
    trace.broker(3, Action.SEND_INIT, topic=None, partition=None, **told)


def found(trace: Trace) -> list[str]:
    return [violation.message for violation in check(trace.events).violations]


def test_an_init_that_names_all_is_complete_and_may_name_more() -> None:
    trace = Trace()
    topic(trace, "a", 5, [1, 2], [2, 3], [1, 3])
    init(trace, "a/0", "a/1", "b/0")

    assert found(trace) == []
    assert check(trace.events).premise_count == 1


def test_an_init_that_leaves_out_a_partition_is_not() -> None:
    trace = Trace()
    topic(trace, "a", 5, [1, 2], [2, 3], [1, 3])
    topic(trace, "b", 10, *[[2]] * 4)
    init(trace, "a/1")

    assert found(trace) == [
        "The INIT to broker-2 of controller epoch 1 leaves out a/0, b/0, b/1 and 2 more."
    ]


def test_three_partitions_are_all_named() -> None:
    trace = Trace()
    topic(trace, "a", 5, [2], [2], [2])
    init(trace)

    (message,) = found(trace)
    assert message.endswith("leaves out a/0, a/1, a/2.")


def test_what_is_newer_than_the_reading_or_has_changed_since_need_not_be_named() -> None:
    trace = Trace()
    topic(trace, "newer", 11, [2])
    topic(trace, "moved", 5, [2])
    topic(trace, "moved", 12, [2, 1])
    topic(trace, "going", 6, [2], deleted=True)
    trace.zookeeper("Delete", "/brokers/topics/gone", "", session=1, zxid=7)
    trace.zookeeper("Create", "/brokers/topics/broken", "{", session=1, zxid=8)
    assigned = '{"version":1,"partitions":{"0":[2]}}'
    trace.zookeeper("Create", "/elsewhere/x", assigned, session=1, zxid=9)
    init(trace)

    assert found(trace) == []
    assert check(trace.events).premise_count == 0


def test_a_line_that_does_not_tell_what_is_named_is_left_out() -> None:
    trace = Trace()
    topic(trace, "a", 5, [2])
    trace.broker(3, Action.SEND_INIT, topic=None, partition=None, peer="broker-2", zxid=10)
    init(trace, zxid=None)

    assert check(trace.events).premise_count == 0
