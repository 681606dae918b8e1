"""Changes of the configuration: there once, forwarded once, for their asker, by the controller."""

from collections.abc import Callable, Sequence

import pytest

from fencepost.conformance.checks import (
    forwarded_once,
    linearizable_config,
    only_controller_writes,
    principal_kept,
)
from fencepost.conformance.verdict import CheckResult, Verdict
from fencepost.spec.config_store import CONFIG_CHANGES, config_bytes
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import FIND_COORDINATOR, Action, Outcome
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


def apply(trace: Trace, value: str, **told: object) -> None:
    """The controller tells that it made the change."""
    line = {"topic": None, "path": PATH, "values": [f"color={value}"], **told}
    trace.broker(3, Action.APPLY_MUTATION, **line)


def test_changes_that_are_there_once_in_order_are_fine() -> None:
    trace = Trace()
    write(trace, 5, color="a", size="1")
    alter(trace, "a")
    apply(trace, "a", zxid=5)
    write(trace, 6, color="b", size="1")
    alter(trace, "b", None)
    alter(trace, "c", Outcome.DEFINITE_ERROR)
    trace.operation("client-1", "AlterConfigs", path=PATH, values=["size=1"])
    describe(trace, "a")
    describe(trace, "b")
    describe(trace, "b")
    describe(trace, "a", broker_id=3)
    trace.operation(
        "client-9", "DescribeConfigs", Outcome.DEFINITE_ERROR, path=PATH, values=["color=z"]
    )

    result = linearizable_config.check(trace.events)

    assert (result.violations, result.premise_count) == ((), 6)


def test_entry_that_is_gone_was_taken_by_one_of_the_attempts() -> None:
    trace = Trace()
    write(trace, 5, color="a")
    write(trace, 6)
    alter(trace, "", Outcome.DEFINITE_ERROR)
    alone = found(linearizable_config.check, trace)
    alter(trace, "", Outcome.OK, node="client-2")

    assert alone == [f"{PATH} color= was refused with None, and is made."]
    assert found(linearizable_config.check, trace) == []


def test_entry_that_never_was_there_may_be_taken_away() -> None:
    trace = Trace()
    write(trace, 5, size="1")
    alter(trace, "", Outcome.OK)
    never = found(linearizable_config.check, trace)
    write(trace, 6, color="a", size="1")
    alter(trace, "a", Outcome.OK)

    assert never == []
    assert f"{PATH} color= was answered as made, and never was." in found(
        linearizable_config.check, trace
    )


@pytest.mark.parametrize(
    ("clock_ms", "has_line", "is_asked", "told"),
    [
        (900, True, False, []),
        (899, True, False, ["is removed at 899, and lives to 900"]),
        (None, True, False, ["is removed, and no client asked for that"]),
        (None, True, True, []),
        (None, False, False, []),
    ],
)
def test_token_goes_when_it_is_over_or_a_client_wants_that(
    clock_ms: int | None, has_line: bool, is_asked: bool, told: list[str]
) -> None:
    trace, path = Trace(), "/delegation_token/tokens/1-2-3"
    made = config_bytes({"expires_ms": "900", "max_ms": "2000", "owner": "User:a"}).decode()
    trace.zookeeper("Create", path, made, session=1, zxid=5)
    trace.zookeeper("Delete", path, "", session=1, zxid=6)
    if has_line:
        apply(trace, "", zxid=6, path=path, values=[], clock_ms=clock_ms)
    if is_asked:
        trace.operation("client-1", "AlterConfigs", path=path, values=["owner="])

    messages = found(linearizable_config.check, trace)

    assert len(messages) == len(told)
    assert all(one in message for one, message in zip(told, messages, strict=True))


def test_change_that_is_told_and_not_there_or_there_and_refused_is_seen() -> None:
    trace = Trace()
    alter(trace, "a")
    write(trace, 5, color="b")
    alter(trace, "b", Outcome.DEFINITE_ERROR)

    assert len(found(linearizable_config.check, trace)) == 2


@pytest.mark.parametrize(
    ("values", "told"), [("aba", ["5, 7"]), ("ab", []), (["a", "", "b", ""], [])]
)
def test_change_that_comes_again_is_seen_and_a_removal_may(
    values: Sequence[str], told: list[str]
) -> None:
    trace = Trace()
    for zxid, value in enumerate(values, start=5):
        data = config_bytes({"color": value} if value else {}).decode()
        trace.zookeeper("SetData", PATH, data, session=1, zxid=zxid)
    for value in sorted(set(values)):
        alter(trace, value, Outcome.INDEFINITE)

    assert found(linearizable_config.check, trace) == [
        f"{PATH} color=a was asked for once, and made at zxids {zxids}." for zxids in told
    ]


def test_entry_that_is_written_over_is_seen() -> None:
    trace = Trace()
    write(trace, 5, color="a", size="1")
    write(trace, 6, color="b")
    for zxid, entries in ((7, {"x": "1"}), (8, {})):
        data = config_bytes(entries).decode()
        trace.zookeeper("SetData", "/elsewhere", data, session=1, zxid=zxid)

    assert found(linearizable_config.check, trace) == [
        f"{PATH}: size is gone, and no client asked for that."
    ]


@pytest.mark.parametrize(
    ("action", "path", "expected"),
    [("SetData", PATH, 1), ("Create", PATH, 0), ("SetData", "/config/topics/u", 0)],
)
def test_value_that_no_client_asked_for_is_seen_where_clients_ask(
    action: str, path: str, expected: int
) -> None:
    trace = Trace()
    alter(trace, "b", Outcome.INDEFINITE)
    describe(trace, "z")
    data = config_bytes({"color": "z"}).decode()
    trace.zookeeper(action, path, data, session=1, zxid=5)
    messages = found(linearizable_config.check, trace)

    assert (f"{path}: color is set to z, and no client asked for that." in messages) == expected


@pytest.mark.parametrize(
    ("values", "zxid", "is_there"),
    [
        (["color=a"], 5, True),
        (["color=a"], 6, False),
        (["color=a"], None, False),
        (["color=b", "size="], 6, True),
        (["color="], 6, False),
        (["shape=a"], 5, False),
        (None, 5, True),
    ],
)
def test_what_the_controller_tells_as_made_is_there(
    values: list[str] | None, zxid: int | None, *, is_there: bool
) -> None:
    trace = Trace()
    write(trace, 5, color="a")
    write(trace, 6, color="b")
    apply(trace, "", values=values, zxid=zxid)

    assert (found(linearizable_config.check, trace) == []) == is_there


def test_broker_that_goes_back_or_invents_is_seen() -> None:
    trace = Trace()
    write(trace, 5, color="a")
    write(trace, 6, color="b")
    describe(trace, "b")
    describe(trace, "a")
    describe(trace, "z")

    assert found(linearizable_config.check, trace) == [
        f"{PATH} color=z was described, and never set.",
        f"{PATH}: broker 2 tells of color as of zxid 5, and before as of 6.",
    ]


FORWARDED = "broker-1/9/1"


def test_request_that_is_forwarded_or_done_twice_is_seen() -> None:
    trace = Trace()
    for broker_id in (1, 2):
        told = {"forwarded_request": FORWARDED, "peer": "broker-3"}
        trace.broker(broker_id, Action.FORWARD_REQUEST, **told)
        apply(trace, "a", forwarded_request=FORWARDED)

    assert found(forwarded_once.check, trace) == [
        f"Request {FORWARDED} was forwarded by brokers 1, 2.",
        f"Request {FORWARDED} was done to {PATH} by brokers 3, 3.",
    ]


def test_move_that_is_done_twice_is_seen_for_each_partition() -> None:
    trace = Trace()
    for action, partition in (
        (Action.START_REASSIGNMENT, 0),
        (Action.START_REASSIGNMENT, 1),
        (Action.CANCEL_REASSIGNMENT, 1),
        (Action.START_REASSIGNMENT, 1),
    ):
        move = {"topic": "t", "partition": partition, "forwarded_request": FORWARDED}
        trace.broker(3, action, **move)

    assert found(forwarded_once.check, trace) == [
        f"Request {FORWARDED} was done to t/1 by brokers 3, 3."
    ]


def test_one_forward_and_one_effect_are_fine() -> None:
    trace = Trace()
    trace.broker(1, Action.FORWARD_REQUEST, forwarded_request=FORWARDED, peer="broker-3")
    for path in (PATH, "/config/topics/u"):
        apply(trace, "a", forwarded_request=FORWARDED, path=path)
        apply(trace, "a")
        apply(trace, "b")
        trace.broker(3, Action.VALIDATE_MUTATION, forwarded_request=FORWARDED)

    result = forwarded_once.check(trace.events)

    assert (result.violations, result.premise_count) == ((), 1)


def test_change_for_another_principal_is_seen() -> None:
    trace = Trace()
    for value, principal in (("a", "User:client-1"), ("b", "User:broker-2")):
        alter(trace, value)
        describe(trace, value)
        apply(trace, value, principal=principal)
    apply(trace, "z", principal="User:client-9")

    result = principal_kept.check(trace.events)

    assert result.premise_count == 2
    assert [one.message for one in result.violations] == [
        f"{PATH}: client-1 asked, and it is done for User:broker-2."
    ]


@pytest.mark.parametrize(("principal", "is_wrong"), [("User:client-1", False), ("User:x", True)])
def test_what_is_forwarded_is_done_for_whom_it_is_forwarded(
    principal: str, *, is_wrong: bool
) -> None:
    trace = Trace()
    request = {"forwarded_request": FORWARDED, "principal": "User:client-1"}
    trace.broker(1, Action.FORWARD_REQUEST, peer="broker-3", **request)
    trace.broker(3, Action.VALIDATE_MUTATION, forwarded_request=FORWARDED, principal="User:x")
    apply(trace, "a", forwarded_request=FORWARDED, principal=principal)
    apply(trace, "b", principal="User:client-2")

    told = f"{PATH}: it is forwarded for User:client-1 and done for User:x."
    assert found(principal_kept.check, trace) == [told] * is_wrong


@pytest.mark.parametrize(
    ("method", "principal", "expected"),
    [
        (FIND_COORDINATOR, "User:broker-2", (0, 1)),
        (FIND_COORDINATOR, "User:client-1", (1, 1)),
        (FIND_COORDINATOR, None, (0, 0)),
        (None, "User:client-1", (0, 0)),
    ],
)
@pytest.mark.parametrize("forwarder", [None, FORWARDED])
def test_topic_for_a_coordinator_is_a_brokers_wish_and_a_client_may_create_it_itself(
    method: str | None, principal: str | None, expected: tuple[int, int], forwarder: str | None
) -> None:
    trace = Trace()
    asked = {"principal": principal, "forwarded_request": forwarder}
    if forwarder:
        trace.broker(2, Action.FORWARD_REQUEST, peer="broker-3", method=method, **asked)
    told = asked if forwarder else {"method": method, **asked}
    trace.broker(3, Action.CREATE_TOPIC, topic=OFFSETS_TOPIC, **told)

    result = principal_kept.check(trace.events)

    assert (len(result.violations), result.premise_count) == expected


def test_move_is_asked_for_in_the_name_for_which_it_is_forwarded() -> None:
    trace = Trace()
    told = {"topic": OFFSETS_TOPIC, "forwarded_request": FORWARDED}
    trace.broker(2, Action.FORWARD_REQUEST, **(told | {"topic": None}), principal="User:client-1")
    trace.broker(3, Action.START_REASSIGNMENT, **told, principal="User:client-1")
    trace.broker(3, Action.CANCEL_REASSIGNMENT, **told, principal="User:client-2")
    trace.broker(3, Action.DELETE_TOPIC, **told, principal="User:client-1")

    assert found(principal_kept.check, trace) == [
        f"{OFFSETS_TOPIC}: it is forwarded for User:client-1 and done for User:client-2."
    ]


def test_forwarded_creation_is_done_once_to_each_topic() -> None:
    trace = Trace()
    for topic in ("t", "u", "u"):
        told = {"topic": topic, "partition": None, "forwarded_request": FORWARDED}
        trace.broker(3, Action.CREATE_TOPIC, **told)

    assert found(forwarded_once.check, trace) == [
        f"Request {FORWARDED} was done to u by brokers 3, 3."
    ]


HELD = ("Create", CONTROLLER, 1)
WRITTEN = ("SetData", PATH, 1)
REGISTERED = ("Create", "/brokers/ids/2", 2)
OFFSETS_TOPIC = "__consumer_offsets"
OFFSETS = f"/brokers/topics/{OFFSETS_TOPIC}"


@pytest.mark.parametrize(
    ("lines", "premise", "wrong"),
    [
        ([WRITTEN], 1, 1),
        ([HELD, WRITTEN], 1, 0),
        ([HELD, ("SetData", PATH, 2)], 1, 1),
        ([HELD, ("SetData", CONFIG_CHANGES, 2)], 1, 1),
        ([HELD, ("SetData", "/elsewhere", 2)], 0, 0),
        ([HELD, ("SetData", CONTROLLER, 2), WRITTEN], 1, 0),
        ([HELD, ("Create", "/elsewhere", 2), WRITTEN], 1, 0),
        ([HELD, ("Delete", CONTROLLER, 2), WRITTEN], 1, 1),
        ([HELD, ("Delete", "/elsewhere", 2), WRITTEN], 1, 0),
        ([HELD, ("CloseSession", "", 1), WRITTEN], 1, 1),
        ([HELD, ("CloseSession", "", 2), WRITTEN], 1, 0),
        ([("CloseSession", "", 1), HELD, WRITTEN], 1, 0),
        ([HELD, REGISTERED, ("Create", OFFSETS, 2)], 1, 1),
        ([HELD, ("Create", "/brokers/ids/1", 1), ("Create", OFFSETS, 1)], 1, 0),
        ([HELD, REGISTERED, ("Delete", OFFSETS, 2)], 1, 1),
        ([HELD, REGISTERED, ("SetData", OFFSETS, 2)], 1, 1),
        ([HELD, REGISTERED, ("Create", "/brokers/topics", 2)], 0, 0),
        ([HELD, REGISTERED, ("Create", f"{OFFSETS}/0/leaderAndISR", 2)], 0, 0),
        ([HELD, REGISTERED, ("Create", "/admin/partitions_add", 2)], 0, 0),
        ([HELD, REGISTERED, ("Create", "/admin/partitions_add/t/0", 2)], 1, 1),
        ([HELD, REGISTERED, ("Delete", "/admin/partitions_reassigned/t/0", 2)], 1, 1),
        ([HELD, ("Create", "/admin/leader_election/t/0", 3)], 0, 0),
        ([HELD, ("Create", OFFSETS, 3)], 0, 0),
    ],
)
def test_the_session_of_the_controller_writes(
    lines: list[tuple[str, str, int]], premise: int, wrong: int
) -> None:
    result = only_controller_writes.check(governed('{"level": 5}', lines).events)

    assert (result.premise_count, len(result.violations)) == (premise, wrong)


def governed(detail: str, lines: list[tuple[str, str, int]]) -> Trace:
    """Lines of ZooKeeper, action, path and session, in a run that says this of itself."""
    trace = Trace()
    trace.zookeeper("CreateSession", "", "", session=9, zxid=1)
    trace.add("harness", Kind.RUN, "RunStarted", {"detail": detail})
    for zxid, (action, path, session) in enumerate(lines, start=4):
        trace.zookeeper(action, path, "{}", session=session, zxid=zxid)
    return trace


def test_write_of_another_session_than_the_controllers_is_told() -> None:
    trace = governed('{"level": 5}', [HELD, ("SetData", PATH, 2)])

    assert found(only_controller_writes.check, trace) == [
        f"Session 2 wrote {PATH}, and session 1 is controller."
    ]


def test_a_run_of_a_lower_level_is_judged_by_the_level_that_it_names() -> None:
    trace = governed('{"level": 4, "judged_level": 5}', [HELD, ("SetData", PATH, 2)])
    told_4 = '{"inter_broker_protocol": 4, "host": "h", "port": 1}'
    trace.zookeeper("Create", "/brokers/ids/2", told_4, session=2, zxid=3)

    result = only_controller_writes.check(trace.events)

    assert (result.premise_count, len(result.violations)) == (1, 1)


@pytest.mark.parametrize("detail", ['{"level": 4}', "{}", "[]", "?", '{"level": "5"}'])
def test_any_session_writes_where_the_run_is_not_of_level_5(detail: str) -> None:
    assert only_controller_writes.check(governed(detail, [WRITTEN]).events).premise_count == 0


def test_an_entry_without_a_value_is_there() -> None:
    trace = Trace()
    write(trace, 5, color="a", empty="")
    write(trace, 6, color="a")

    assert found(linearizable_config.check, trace) == [
        f"{PATH}: empty is gone, and no client asked for that."
    ]


def test_without_the_record_of_zookeeper_a_change_is_not_missed() -> None:
    trace = Trace()
    alter(trace, "a")
    describe(trace, "b")

    result = linearizable_config.check(trace.events)

    assert (result.verdict, result.violations) == (Verdict.VACUOUS, ())


TOKENS = "/delegation_token/tokens"


def make_token(trace: Trace, number: int, zxid: int, owner: str = "User:client-1") -> None:
    """ZooKeeper holds one more token."""
    data = config_bytes({"owner": owner, "issued_ms": f"{number}"}).decode()
    trace.zookeeper("Create", f"{TOKENS}/{number}", data, session=1, zxid=zxid)


@pytest.mark.parametrize(
    ("outcomes", "made", "seen"),
    [
        ((Outcome.OK,), 1, []),
        ((Outcome.INDEFINITE,), 0, []),
        ((Outcome.INDEFINITE,), 1, []),
        ((Outcome.OK, Outcome.DEFINITE_ERROR), 1, []),
        ((Outcome.OK,), 2, ["2 tokens have owner=User:client-1, and 1"]),
        ((Outcome.DEFINITE_ERROR,), 1, ["1 tokens have owner=User:client-1, and 0"]),
    ],
)
def test_client_has_no_more_tokens_than_it_has_asked_for(
    outcomes: tuple[Outcome, ...], made: int, seen: list[str]
) -> None:
    trace = Trace()
    for outcome in outcomes:
        asked = {"path": TOKENS, "values": ["owner=User:client-1"]}
        trace.operation("client-1", "AlterConfigs", outcome, **asked)
    for number in range(made):
        make_token(trace, number, zxid=5 + number)
    make_token(trace, made, zxid=5 + made, owner="User:client-2")
    write(trace, 6 + made, owner="User:client-1")

    of_tokens = [one for one in found(linearizable_config.check, trace) if "tokens have" in one]

    assert of_tokens == [f"{one} of its requests may have made one." for one in seen]


@pytest.mark.parametrize(("path", "is_wrong"), [(f"{TOKENS}/0", False), (PATH, True)])
def test_a_token_of_which_the_removal_was_refused_may_be_over(path: str, *, is_wrong: bool) -> None:
    trace = Trace()
    make_token(trace, 0, zxid=5)
    write(trace, 6, owner="User:client-1")
    told = {"path": path, "values": ["owner="]}
    trace.operation("client-1", "AlterConfigs", Outcome.DEFINITE_ERROR, **told)
    trace.zookeeper("Delete", path, "", session=1, zxid=7)
    refused = [one for one in found(linearizable_config.check, trace) if "refused" in one]

    assert refused == [f"{path} owner= was refused with None, and is made."] * is_wrong
