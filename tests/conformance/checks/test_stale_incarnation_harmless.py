"""A broker that was restarted is not taken for the one before."""

import json

import pytest

from fencepost.conformance.checks.registry import is_promised
from fencepost.conformance.checks.stale_incarnation_harmless import check
from fencepost.spec.trace import Kind
from fencepost.spec.vocabulary import Action, ErrorCode, Invariant, RefusalKind
from tests.conformance.checks.trace_builder import ZNODE, Fields, Trace, document

OLD, NEW = 10, 30
"""Epochs of broker 2, of which the first ends at 20."""


def run() -> Trace:
    """Broker 1 is registered as 9, broker 2 as 10 and later as 30."""
    trace = Trace()
    for action, broker_id, zxid in (
        ("Create", 1, 9),
        ("Create", 2, OLD),
        ("Delete", 2, 20),
        ("Create", 2, NEW),
    ):
        trace.zookeeper(action, f"/brokers/ids/{broker_id}", "{}", session=broker_id, zxid=zxid)
    trace.broker(2, Action.REGISTER_BROKER, topic=None, partition=None, zxid=OLD)
    return trace


def state(leader: int, epoch: int, isr: dict[int, int | None]) -> str:
    """The document of a state with members that joined under these epochs."""
    told = {
        "version": 1,
        "leader": leader,
        "leader_epoch": epoch,
        "isr": sorted(isr),
        "controller_epoch": 1,
        "isr_broker_epochs": [isr[one] or 0 for one in sorted(isr)],
    }
    return json.dumps(told)


def stored(trace: Trace, *documents: str, at: tuple[int, ...] = (12, 41, 42)) -> Trace:
    """Each of the documents at its zxid."""
    for version, (data, zxid) in enumerate(zip(documents, at, strict=False)):
        action = "SetData" if version else "Create"
        trace.zookeeper(action, ZNODE, data, session=1, zxid=zxid, version=version)
    return trace


def found(trace: Trace) -> list[str]:
    return [violation.message for violation in check(trace.events).violations]


@pytest.mark.parametrize(("epoch", "expected"), [(OLD - 1, 1), (OLD, 0), (NEW, 0)])
def test_from_level_4_on_a_command_names_the_last_incarnation(epoch: int, expected: int) -> None:
    trace = run()
    trace.broker(2, Action.BECOME_FOLLOWER, max_broker_epoch=epoch)

    assert len(found(trace)) == expected


@pytest.mark.parametrize("field", ["broker_epoch", "max_broker_epoch"])
@pytest.mark.parametrize("epoch", [OLD, NEW, NEW + 1])
def test_a_controller_names_an_epoch_that_was_given(field: str, epoch: int) -> None:
    trace = run()
    trace.broker(1, Action.SEND_LEADER_AND_ISR, peer="broker-2", **{field: epoch})

    message = f"SendLeaderAndIsr names {epoch}, under which no broker has registered."
    assert found(trace) == ([message] if epoch > NEW else [])


def test_what_a_controller_tells_of_another_broker_is_no_command_for_itself() -> None:
    trace = run()
    trace.broker(2, Action.OBEY_SHUTDOWN, peer="broker-1", broker_epoch=9)

    assert found(trace) == []


def test_where_no_registration_is_recorded_any_epoch_may_have_been_given() -> None:
    trace = Trace()
    trace.broker(1, Action.SEND_LEADER_AND_ISR, peer="broker-2", broker_epoch=OLD)
    result = check(trace.events)

    assert (result.premise_count, result.violations) == (0, ())


@pytest.mark.parametrize("action", [Action.BECOME_LEADER, Action.BECOME_FOLLOWER, "StopReplica"])
def test_a_command_for_an_earlier_incarnation_is_not_obeyed(action: str) -> None:
    trace = run()
    trace.broker(2, action, broker_epoch=OLD, leader_epoch=0)
    trace.broker(2, Action.REGISTER_BROKER, topic=None, partition=None, zxid=NEW)
    trace.broker(2, action, broker_epoch=NEW, leader_epoch=1)
    assert found(trace) == []

    trace.broker(2, action, broker_epoch=OLD, leader_epoch=2)

    assert found(trace) == [
        "Broker 2 obeyed a command for its incarnation 10 when it was registered as 30."
    ]


def refuse(trace: Trace, broker_epoch: int, error_code: ErrorCode) -> None:
    line: Fields = {"broker_id": 2, "broker_epoch": broker_epoch, "error_code": error_code.value}
    trace.add("broker-2", Kind.REFUSAL, RefusalKind.REFUSE_COMMAND, line)


def test_only_a_command_for_an_earlier_incarnation_is_refused_as_stale() -> None:
    trace = run()
    refuse(trace, OLD - 1, ErrorCode.STALE_BROKER_EPOCH)
    refuse(trace, NEW, ErrorCode.BROKER_NOT_AVAILABLE)
    assert found(trace) == []

    refuse(trace, NEW, ErrorCode.STALE_BROKER_EPOCH)

    assert found(trace) == [
        "Broker 2 refused as stale a command for its incarnation 30 when it was registered as 10."
    ]


def test_a_member_stays_the_incarnation_that_joined() -> None:
    first = state(1, 0, {1: 9, 2: OLD})

    assert found(stored(run(), first, state(1, 1, {1: 9}))) == []
    assert found(stored(run(), first, state(1, 1, {1: 9}), state(1, 1, {1: 9, 2: NEW}))) == []
    assert found(stored(run(), first, state(1, 1, {1: 9, 2: NEW}))) == [
        "orders/0 at zxid 41: broker 2 joined the ISR as 10 and is named as 30."
    ]


def test_a_broker_joins_under_an_epoch_that_it_was_given() -> None:
    alone = state(1, 0, {1: 9})

    assert found(stored(run(), alone, state(1, 0, {1: 9, 2: NEW}))) == []
    assert found(stored(run(), alone, state(1, 0, {1: 9, 2: 31}))) == [
        "orders/0 at zxid 41: broker 2 joined as 31, and was registered as [10, 30]."
    ]
    assert found(stored(run(), alone, state(1, 0, {1: 9, 2: None}))) == [
        "orders/0 at zxid 41: broker 2 joined the ISR without a broker epoch."
    ]


def test_a_returned_leader_is_elected_as_one_that_may_have_lost_records() -> None:
    documents = state(2, 0, {2: OLD}), state(2, 1, {2: NEW})
    assert len(found(stored(run(), *documents))) == 1

    told = run()
    decided = {"controller_epoch": 1, "leader_epoch": 1, "leader": 2, "is_loss_possible": True}
    told.broker(1, Action.ELECT_LEADER, **decided)

    assert found(stored(told, *documents)) == []


def test_a_leader_that_was_gone_all_the_time_is_not_elected_as_steady() -> None:
    documents = state(1, 0, {1: 9, 2: OLD}), state(1, 1, {1: 9, 2: OLD}), state(2, 2, {2: OLD})
    trace = stored(run(), *documents)
    trace.broker(1, Action.ELECT_LEADER, controller_epoch=1, leader_epoch=2, leader=2)

    assert found(trace) == [
        "orders/0 at zxid 42: leader 2 is named as 10, and was registered as [30]."
    ]


def test_a_broker_does_not_lead_by_a_decision_about_its_incarnation_before() -> None:
    trace = stored(run(), state(2, 0, {2: OLD}))
    trace.broker(2, Action.BECOME_LEADER, leader_epoch=0, broker_epoch=OLD)
    assert found(trace) == []

    trace.broker(2, Action.REGISTER_BROKER, topic=None, partition=None, zxid=NEW)
    trace.broker(2, Action.BECOME_LEADER, leader_epoch=0, broker_epoch=NEW)

    assert found(trace) == [
        "Broker 2 leads as 30, and leader epoch 0 was decided for its incarnation 10."
    ]


def test_without_epochs_there_is_nothing_to_decide() -> None:
    trace = run()
    trace.broker(2, Action.BECOME_LEADER, leader_epoch=0)

    assert check(trace.events).premise_count == 0


def test_lower_levels_give_it_nothing_to_decide_and_it_is_not_missed_there() -> None:
    invariant = Invariant.STALE_INCARNATION_HARMLESS

    assert [is_promised(invariant, level) for level in (2, 3, None)] == [False, True, True]
    assert is_promised(Invariant.LEADER_COMPLETE, 0)


def test_a_leader_that_has_registered_anew_may_shrink_the_isr_before_its_controller_looks() -> None:
    """Found as a variation of `composite_version_race`: no election was wrong."""
    first, shrunk = state(2, 0, {1: 9, 2: OLD}), state(2, 0, {2: OLD})

    assert found(stored(run(), first, shrunk, state(2, 1, {2: OLD}))) == []


@pytest.mark.parametrize(
    ("zxid", "message"),
    [(NEW, []), (NEW - 1, ["broker 2 joined as 30, and was registered as [10]."])],
)
def test_no_broker_joins_as_what_it_is_to_become(zxid: int, message: list[str]) -> None:
    documents = state(1, 0, {1: 9}), state(1, 0, {1: 9, 2: NEW})

    told = found(stored(run(), *documents, at=(12, zxid)))

    assert told == [f"orders/0 at zxid {zxid}: {one}" for one in message]


@pytest.mark.parametrize(
    "joined",
    [
        (state(1, 0, {1: 9, 2: None}), state(1, 0, {1: 9, 2: None})),
        (state(1, 0, {1: None}), state(1, 0, {1: None, 2: NEW})),
        (state(1, 0, {1: 9}), state(1, 0, {1: 9, 3: None})),
        (state(1, 0, {1: 9}), state(1, 0, {1: 9, 3: 31})),
        (state(1, 0, {1: 9, 2: None}), state(2, 1, {1: 9, 2: None})),
    ],
    ids=["stays without", "is the first", "is not told", "nor its epoch", "leads without"],
)
def test_a_member_without_an_epoch_or_a_registration_proves_nothing(
    joined: tuple[str, str],
) -> None:
    assert found(stored(run(), *joined)) == []


@pytest.mark.parametrize(
    ("since", "expected"),
    [(19, []), (20, ["leader 2 is named as 10, and was registered as [30]."])],
)
def test_a_leader_stood_some_time_since_its_epoch_began(since: int, expected: list[str]) -> None:
    """The first registration of broker 2 stands up to zxid 19."""
    documents = (
        state(1, 0, {1: 9, 2: OLD}),
        state(1, 1, {1: 9, 2: OLD}),
        state(1, 1, {1: 9, 2: OLD}),
        state(2, 2, {2: OLD}),
    )

    told = found(stored(run(), *documents, at=(12, since, 31, 32)))

    assert told == [f"orders/0 at zxid 32: {one}" for one in expected]


@pytest.mark.parametrize(("zxid", "expected"), [(29, 0), (30, 1)])
def test_a_leader_is_not_judged_by_a_registration_after_its_election(
    zxid: int, expected: int
) -> None:
    documents = (
        state(1, 0, {1: 9, 2: OLD}),
        state(1, 1, {1: 9, 2: OLD}),
        state(2, 2, {2: OLD}),
    )

    assert len(found(stored(run(), *documents, at=(12, 21, zxid)))) == expected


@pytest.mark.parametrize("why", ["is_unclean", "is_loss_possible"])
def test_an_election_that_may_lose_records_may_name_what_is_gone(why: str) -> None:
    elected = state(2, 2, {2: OLD})
    signed = elected.replace('"controller_epoch": 1', '"controller_epoch": 2')
    documents = state(1, 0, {1: 9, 2: OLD}), state(1, 1, {1: 9, 2: OLD}), elected, signed
    trace = stored(run(), *documents, at=(12, 41, 42, 43))
    for epoch, flag in ((2, why), (2, None), (1, why)):
        told = {flag: True} if flag else {}
        trace.broker(1, Action.ELECT_LEADER, controller_epoch=1, leader_epoch=epoch, **told)

    assert found(trace) == []


def test_only_the_leader_of_an_election_that_may_lose_records_is_another() -> None:
    trace = stored(run(), state(1, 0, {1: 9, 2: OLD}), state(1, 1, {1: 9, 2: NEW}))
    decided = {"controller_epoch": 1, "leader_epoch": 1, "leader": 1, "is_loss_possible": True}
    trace.broker(1, Action.ELECT_LEADER, **decided)

    assert found(trace) == [
        "orders/0 at zxid 41: broker 2 joined the ISR as 10 and is named as 30."
    ]


def test_a_first_leader_may_have_registered_anew_since_the_controller_looked() -> None:
    assert found(stored(run(), state(2, 0, {2: OLD}), at=(40,))) == []


def test_what_is_told_is_compared_with_the_same_start_alone() -> None:
    trace = run()
    trace.broker(2, Action.BECOME_FOLLOWER, broker_epoch=OLD - 1, incarnation=2)
    trace.broker(3, Action.BECOME_FOLLOWER, broker_epoch=OLD - 1)
    assert check(trace.events).premise_count == 0

    trace.broker(2, Action.BECOME_FOLLOWER, broker_epoch=OLD - 1)

    (violation,) = check(trace.events).violations
    assert [event.action for event in violation.witness] == ["RegisterBroker", "BecomeFollower"]


def test_of_two_decisions_of_one_epoch_the_later_may_be_meant() -> None:
    trace = stored(run(), state(2, 0, {2: OLD}), state(2, 0, {2: NEW}))
    trace.broker(2, Action.REGISTER_BROKER, topic=None, partition=None, zxid=NEW)
    trace.broker(2, Action.BECOME_LEADER, leader_epoch=0)

    assert [one for one in found(trace) if "leads as" in one] == []


def test_a_follower_leads_by_no_decision() -> None:
    trace = stored(run(), state(2, 0, {2: OLD}))
    trace.broker(2, Action.REGISTER_BROKER, topic=None, partition=None, zxid=NEW)
    trace.broker(2, Action.BECOME_FOLLOWER, leader_epoch=0)

    assert found(trace) == []


def test_an_epoch_that_was_not_given_is_told_once() -> None:
    documents = [state(1, 0, {1: 9, 2: 5})] * 2

    assert found(stored(run(), *documents)) == [
        "orders/0 at zxid 12: broker 2 joined as 5, and was registered as [10]."
    ]


def test_states_that_name_no_epochs_and_nonsense_are_not_judged() -> None:
    trace = stored(run(), state(1, 0, {1: 9}), "nonsense", document(1, 0, [1]), at=(12, 41, 42))

    assert check(trace.events).premise_count == 1
    assert found(trace) == []


def joined_after(told: dict[int, int], epoch: int, incarnation: int = 12) -> list[str]:
    """Broker 1 leads, is told of these registrations, and lets broker 2 join as `epoch`."""
    trace = stored(run(), state(1, 0, {1: 9}), state(1, 0, {1: 9, 2: epoch}))
    line: Fields = {"live_brokers": [*told], "broker_epochs": [*told.values()]}
    trace.broker(1, Action.UPDATE_METADATA, topic=None, partition=None, **line)
    asked: Fields = {"leader_epoch": 0, "isr": [1, 2], "expected_version": 0}
    trace.broker(1, Action.EXPAND_ISR, **asked, partition_incarnation=incarnation)
    return found(trace)


def test_a_leader_lets_none_join_as_what_it_was_before_as_it_was_told() -> None:
    assert joined_after({1: 9, 2: OLD}, OLD) == []
    assert joined_after({1: 9, 2: OLD}, NEW) == []
    assert joined_after({1: 9}, OLD) == []

    assert joined_after({1: 9, 2: NEW}, OLD) == [
        "orders/0 at zxid 41: broker 2 joined as 10, and its leader knew it as 30."
    ]


def test_what_a_leader_asks_for_another_incarnation_of_the_partition_is_not_this_one() -> None:
    assert joined_after({1: 9, 2: NEW}, OLD, incarnation=50) == []
