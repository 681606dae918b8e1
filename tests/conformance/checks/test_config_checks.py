"""Changes of the configuration: there once, forwarded once, for their asker, by the controller."""

from collections.abc import Callable, Sequence

from fencepost.conformance.checks import (
    forwarded_once,
    linearizable_config,
    only_controller_writes,
    principal_kept,
)
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.config_store import config_bytes
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Action, Outcome
from fencepost.spec.znodes import CONTROLLER
from tests.conformance.checks.trace_builder import Trace

PATH = "/config/topics/t"
Check = Callable[[Sequence[TraceEvent]], CheckResult]


def write(trace: Trace, zxid: int, session: int = 1, **entries: str) -> None:
    """The znode of the topic holds these entries."""
    data = config_bytes(entries).decode()
    trace.zookeeper("SetData", PATH, data, session=session, zxid=zxid)


def alter(
    trace: Trace, value: str, outcome: Outcome | None = Outcome.OK, node: str = "client-1"
) -> None:
    """A client has set color to this value."""
    trace.operation(node, "AlterConfigs", outcome, path=PATH, values=[f"color={value}"])


def describe(trace: Trace, value: str, broker_id: int = 2) -> None:
    """A broker has told this value."""
    told = [f"color={value}"]
    trace.operation("client-9", "DescribeConfigs", path=PATH, values=told, broker_id=broker_id)


def found(check: Check, trace: Trace) -> list[str]:
    return [violation.message for violation in check(trace.events).violations]


def test_changes_that_are_there_once_in_order_are_fine() -> None:
    trace = Trace()
    write(trace, 5, color="a")
    alter(trace, "a")
    write(trace, 6, color="b")
    alter(trace, "b", Outcome.INDEFINITE)
    alter(trace, "c", Outcome.DEFINITE_ERROR)
    describe(trace, "a")
    describe(trace, "b")
    describe(trace, "a", broker_id=3)

    result = linearizable_config.check(trace.events)

    assert (result.violations, result.premise_count) == ((), 4)


def test_change_that_is_told_and_not_there_or_there_and_refused_is_seen() -> None:
    trace = Trace()
    alter(trace, "a")
    write(trace, 5, color="b")
    alter(trace, "b", Outcome.DEFINITE_ERROR)

    assert len(found(linearizable_config.check, trace)) == 2


def test_change_that_comes_again_is_seen() -> None:
    trace = Trace()
    for zxid, value in enumerate("aba", start=5):
        write(trace, zxid, color=value)
    alter(trace, "a", Outcome.INDEFINITE)

    assert found(linearizable_config.check, trace) == [
        f"{PATH} color=a was asked for once, and made at zxids 5, 7."
    ]


def test_entry_that_is_written_over_is_seen() -> None:
    trace = Trace()
    write(trace, 5, color="a", size="1")
    write(trace, 6, color="b")

    assert found(linearizable_config.check, trace) == [
        f"{PATH}: size is gone, and no client asked for that."
    ]


def test_broker_that_goes_back_or_invents_is_seen() -> None:
    trace = Trace()
    write(trace, 5, color="a")
    write(trace, 6, color="b")
    describe(trace, "b")
    describe(trace, "a")
    describe(trace, "z")

    assert len(found(linearizable_config.check, trace)) == 2


def test_request_that_is_forwarded_or_done_twice_is_seen() -> None:
    trace = Trace()
    for broker_id in (1, 2):
        told = {"forwarded_request": "broker-1/9/1", "peer": "broker-3"}
        trace.broker(broker_id, Action.FORWARD_REQUEST, **told)
        trace.broker(3, Action.APPLY_MUTATION, forwarded_request="broker-1/9/1", path=PATH)

    assert found(forwarded_once.check, trace) == [
        "Request broker-1/9/1 was forwarded by brokers 1, 2.",
        f"Request broker-1/9/1 was done to {PATH} by brokers 3, 3.",
    ]


def test_one_forward_and_one_effect_are_fine() -> None:
    trace = Trace()
    trace.broker(1, Action.FORWARD_REQUEST, forwarded_request="broker-1/9/1", peer="broker-3")
    trace.broker(3, Action.APPLY_MUTATION, forwarded_request="broker-1/9/1", path=PATH)

    result = forwarded_once.check(trace.events)

    assert (result.violations, result.premise_count) == ((), 1)


def test_change_for_another_principal_is_seen() -> None:
    trace = Trace()
    for value, principal in (("a", "User:client-1"), ("b", "User:broker-2")):
        alter(trace, value)
        told = {"path": PATH, "values": [f"color={value}"], "principal": principal}
        trace.broker(3, Action.APPLY_MUTATION, **told)

    result = principal_kept.check(trace.events)

    assert result.premise_count == 2
    assert [one.message for one in result.violations] == [
        f"{PATH}: client-1 asked, and it is done for User:broker-2."
    ]


def governed(level: int) -> Trace:
    """Session 1 is controller; 2 writes a configuration after it."""
    trace = Trace()
    trace.add("harness", Kind.RUN, "RunStarted", {"detail": f'{{"level": {level}}}'})
    trace.zookeeper("Create", CONTROLLER, "{}", session=1, zxid=4)
    write(trace, 5, session=1, color="a")
    write(trace, 6, session=2, color="b")
    return trace


def test_write_of_another_session_than_the_controllers_is_seen() -> None:
    result = only_controller_writes.check(governed(5).events)

    assert result.premise_count == 2
    assert [one.message for one in result.violations] == [
        f"Session 2 wrote {PATH}, and session 1 is controller."
    ]


def test_any_session_writes_below_level_5() -> None:
    assert only_controller_writes.check(governed(4).events).premise_count == 0


def test_session_that_is_over_is_no_controller() -> None:
    trace = governed(5)
    trace.zookeeper("CloseSession", "", "", session=1, zxid=7)
    write(trace, 8, session=1, color="c")

    assert len(found(only_controller_writes.check, trace)) == 2
