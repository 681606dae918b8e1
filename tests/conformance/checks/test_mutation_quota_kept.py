"""The quota of mutations, recomputed: what is admitted, refused, told and muted."""

from collections.abc import Callable

import pytest

from fencepost.conformance.checks.mutation_quota_kept import check
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.config_store import config_bytes
from fencepost.spec.trace import Kind
from fencepost.spec.vocabulary import Action, RefusalKind
from tests.conformance.checks.trace_builder import Fields, Trace

NEW, OLD = 6, 5
NODE = "broker-1"


class Controller:
    """Tells of mutations, one request per line unless a number is given."""

    def __init__(self, rate: str = "2", burst: str = "20", path: str = "users/<default>") -> None:
        self.trace = Trace()
        self.requests = 0
        data = config_bytes({"controller_mutation_rate": rate}).decode()
        self.trace.zookeeper("Create", f"/config/{path}", data, session=1, zxid=1)
        self.alter(rate, burst, user="")

    def alter(self, rate: str, burst: str, **entity: str) -> None:
        self.tell(Action.ALTER_QUOTA, mutation_rate=rate, mutation_burst=burst, **entity)

    def count(self, action: str, at_ms: int, count: int, **fields: object) -> int:
        self.requests += 1
        line: Fields = {"user": "ann", "client_id": "x", "method": "CreateTopics"}
        line |= {"api_version": NEW, "partition_count": count, "clock_ms": at_ms}
        line |= {"received_ms": at_ms, "connection": "c", "request_number": self.requests}
        self.tell(action, **line | fields)
        return self.requests

    def admit(self, at_ms: int, count: int, **fields: object) -> int:
        return self.count(Action.ADMIT_MUTATION, at_ms, count, **fields)

    def refuse(self, at_ms: int, wait_ms: int, **fields: object) -> int:
        return self.count(Action.REFUSE_MUTATION, at_ms, 1, throttle_time_ms=wait_ms, **fields)

    def mute(self, number: int, at_ms: int, for_ms: int) -> None:
        line: Fields = {"user": "ann", "client_id": "x", "connection": "c", "clock_ms": at_ms}
        line |= {"request_number": number, "throttle_time_ms": for_ms}
        self.trace.add(NODE, Kind.REFUSAL, RefusalKind.MUTE_CONNECTION, line)

    def tell(self, action: str, **fields: object) -> None:
        self.trace.add(NODE, Kind.ACTION, action, {"broker_id": 1, **fields})

    def result(self) -> CheckResult:
        return check(self.trace.events)


def found(controller: Controller) -> list[str]:
    return [violation.message for violation in controller.result().violations]


def test_kafka_s_two_topics_are_fine() -> None:
    controller = Controller()
    controller.admit(0, 30)
    number = controller.refuse(0, 5_000)
    controller.mute(number, 0, 5_000)
    controller.admit(5_000, 30)
    controller.count(Action.VALIDATE_MUTATION, 5_001, 1_000, connection="d")
    controller.refuse(5_001, 14_999 + 0, connection="d")

    result = controller.result()
    assert [one.message for one in result.violations] == []
    assert result.premise_count == 4


def test_a_third_is_counted_exactly() -> None:
    """Each third of a partition is given back after a second, to the millisecond."""
    controller = Controller("0.3", "0.6")
    controller.admit(0, 1)
    controller.refuse(0, 1_334, connection="d")
    controller.admit(1_334, 1, connection="d")

    assert found(controller) == []


def over_the_burst(controller: Controller) -> None:
    controller.admit(0, 21)
    controller.admit(499, 1)


def unused_rate_without_end(controller: Controller) -> None:
    """A minute of silence gives the burst, and no more."""
    controller.admit(0, 1)
    controller.admit(60_000, 21)
    controller.admit(60_000, 1)


def refused_without_need(controller: Controller) -> None:
    controller.admit(0, 20)
    controller.refuse(0, 1)


def refused_when_it_has_waited(controller: Controller) -> None:
    controller.admit(0, 30)
    controller.refuse(5_000, 1)


def validation_that_is_charged(controller: Controller) -> None:
    controller.count(Action.VALIDATE_MUTATION, 0, 30)
    controller.refuse(0, 5_000)


def too_short_a_wait(controller: Controller) -> None:
    controller.admit(0, 30)
    controller.refuse(0, 4_999)


def too_long_a_wait(controller: Controller) -> None:
    controller.admit(0, 30)
    controller.refuse(0, 5_001)


def old_version_refused(controller: Controller) -> None:
    controller.admit(0, 30)
    controller.refuse(0, 5_000, api_version=OLD)


def old_version_not_muted(controller: Controller) -> None:
    controller.mute(controller.admit(0, 30, api_version=OLD), 10, 0)


def muted_too_short(controller: Controller) -> None:
    controller.admit(0, 30)
    controller.mute(controller.refuse(0, 5_000), 1, 4_998)


def heard_while_muted(controller: Controller) -> None:
    controller.admit(0, 30)
    controller.mute(controller.refuse(0, 5_000), 0, 5_000)
    controller.admit(5_000, 1, received_ms=4_999)


def another_quota_first(controller: Controller) -> None:
    """A quota of the user itself counts, not that of any user."""
    data = config_bytes({"controller_mutation_rate": "1"}).decode()
    controller.trace.zookeeper("Create", "/config/users/ann", data, session=1, zxid=2)
    controller.alter("1", "10", user="ann")
    controller.admit(0, 12)
    controller.admit(0, 1)


def bucket_of_another(controller: Controller) -> None:
    controller.admit(0, 30, user="bob")
    controller.refuse(0, 5_000)


def quota_that_was_not_written(controller: Controller) -> None:
    controller.alter("3", "30", user="")


def told_again(controller: Controller) -> None:
    controller.alter("2", "20", user="")


def burst_over_another_time(controller: Controller) -> None:
    data = config_bytes({"controller_mutation_rate": "1"}).decode()
    controller.trace.zookeeper("Create", "/config/clients/x", data, session=1, zxid=2)
    controller.alter("1", "11", client_id="x")


def refused_without_a_quota(controller: Controller) -> None:
    controller.tell(Action.ALTER_QUOTA, user="")
    controller.refuse(0, 1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (over_the_burst, "ann/x is admitted 1 with 0.002 too many."),
        (unused_rate_without_end, "ann/x is admitted 1 with 1 too many."),
        (refused_without_need, "ann/x is refused with 0 left of its burst."),
        (refused_when_it_has_waited, "ann/x is refused with 0 left of its burst."),
        (validation_that_is_charged, "ann/x is refused with 20 left of its burst."),
        (too_short_a_wait, "ann/x is told to wait 4999 ms, and 5000 ms suffice."),
        (too_long_a_wait, "ann/x is told to wait 5001 ms, and 5000 ms suffice."),
        (old_version_refused, "ann/x is refused in version 5."),
        (old_version_not_muted, "ann/x is muted for 0 ms, and owes for 4990 ms."),
        (muted_too_short, "ann/x is muted for 4998 ms, and owes for 4999 ms."),
        (heard_while_muted, "c is muted at 0 ms for 5000 ms, and heard at 4999 ms."),
        (another_quota_first, "ann/x is admitted 1 with 2 too many."),
        (bucket_of_another, "ann/x is refused with 20 left of its burst."),
        (quota_that_was_not_written, "The quota of ('', None) is 3, which was never written."),
        (
            burst_over_another_time,
            "The rate and burst of (None, 'x') are not over the same time as those of ('', None).",
        ),
        (told_again, "The quota of ('', None) is told as new, and was so."),
        (refused_without_a_quota, "ann/x is refused, and has no quota."),
    ],
)
def test_what_is_wrong_is_seen(wrong: Callable[[Controller], None], message: str) -> None:
    controller = Controller()
    wrong(controller)

    assert found(controller) == [message]


def test_without_the_record_of_zookeeper_no_quota_is_known() -> None:
    controller = Controller()
    controller.admit(0, 30)
    controller.admit(0, 1)
    of_brokers = [event for event in controller.trace.events if event.kind is not Kind.ZOOKEEPER]

    result = check(of_brokers)

    assert result.doubts == ("ZooKeeper's own record of the run is missing: no quota is known.",)
    assert [one.message for one in result.violations] == ["ann/x is admitted 1 with 10 too many."]


def test_a_new_term_begins_with_nothing_taken() -> None:
    controller = Controller()
    controller.admit(0, 30)
    controller.tell(Action.RESIGN_CONTROLLER)
    controller.tell(Action.ELECT_CONTROLLER)
    controller.alter("2", "20", user="")
    controller.admit(1, 1)

    assert found(controller) == []


def test_a_rate_of_zero_never_gives_back() -> None:
    controller = Controller("0", "0")
    controller.admit(0, 1)
    controller.refuse(9_000, 2**31 - 1)

    assert found(controller) == []


def test_a_clock_that_was_set_back_gives_nothing() -> None:
    controller = Controller()
    controller.admit(5_000, 30)
    controller.refuse(0, 5_000, connection="d")

    assert found(controller) == []
