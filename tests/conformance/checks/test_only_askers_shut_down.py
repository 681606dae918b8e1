"""Only a broker that has asked to end is let go, and nothing is left to it that others could do."""

import pytest
from msgspec.structs import replace

from fencepost.conformance.checks.only_askers_shut_down import check
from fencepost.spec.trace import Kind
from fencepost.spec.vocabulary import Action, RefusalKind
from tests.conformance.checks.test_stale_incarnation_harmless import state
from tests.conformance.checks.trace_builder import ZNODE, Trace

CONTROLLER = 3
FIRST = {1: 11, 2: 12}
"""The registrations of brokers 1 and 2 at first."""
FULL = state(1, 0, {1: 11, 2: 12})


def run(*, since: str = FULL) -> Trace:
    """A controller that knows both brokers, and a partition with this state."""
    trace = Trace()
    trace.zookeeper("Create", ZNODE, since, session=1, zxid=20)
    trace.broker(CONTROLLER, Action.ELECT_CONTROLLER, topic=None, partition=None)
    detect(trace, FIRST)
    return trace


def detect(trace: Trace, live: dict[int, int]) -> None:
    """The controller sees these registrations."""
    known = {"live_brokers": [*live], "broker_epochs": [*live.values()]}
    trace.broker(CONTROLLER, Action.DETECT_BROKER_CHANGE, topic=None, partition=None, **known)


def consent(trace: Trace, broker_id: int, epoch: int) -> None:
    """The controller lets the broker go."""
    told = {"peer": f"broker-{broker_id}", "broker_epoch": epoch}
    trace.broker(CONTROLLER, Action.OBEY_SHUTDOWN, topic=None, partition=None, **told)


def elect(trace: Trace, data: str, version: int = 0, *, lossy: bool = False) -> None:
    """The controller decides so upon the state of that version, and it is written and known."""
    decided = {"controller_epoch": 1, "expected_version": version, "assigned_replicas": [1, 2]}
    flags = {"is_loss_possible": True} if lossy else {}
    trace.broker(CONTROLLER, Action.ELECT_LEADER, **decided, **flags)
    zxid = 21 + version
    trace.zookeeper("SetData", ZNODE, data, session=3, zxid=zxid, version=version + 1)
    trace.broker(CONTROLLER, Action.PUBLISH_DECISION, controller_epoch=1)


def found(trace: Trace) -> list[str]:
    return [violation.message for violation in check(trace.events).violations]


def test_a_broker_that_asked_is_let_go_and_others_lead() -> None:
    trace = run()
    consent(trace, 1, 11)
    elect(trace, state(2, 1, {2: 12}))

    result = check(trace.events)

    assert not result.violations
    assert result.premise_count == 2


def test_a_consent_to_an_earlier_registration_is_a_late_copy() -> None:
    trace = run()
    detect(trace, {1: 31, 2: 12})
    consent(trace, 1, 11)
    detect(trace, {2: 12})
    consent(trace, 1, 31)

    assert found(trace) == [
        "Controller 3 lets broker 1 go by a request of its registration 11, and knows it as 31.",
        "Controller 3 lets broker 1 go by a request of its registration 31, and knows it"
        " to be gone.",
    ]


def test_an_election_leaves_nothing_to_a_broker_that_was_let_go() -> None:
    trace = run()
    consent(trace, 1, 11)
    elect(trace, state(1, 1, {1: 11, 2: 12}))

    assert found(trace) == [
        "orders/0 at zxid 21: broker 1 was let go, and stays while [2] could lead."
    ]


def test_the_last_that_could_lead_stays() -> None:
    trace = run()
    consent(trace, 1, 11)
    consent(trace, 2, 12)
    elect(trace, state(1, 1, {1: 11, 2: 12}))
    assert found(trace) == []

    alone = run(since=state(1, 0, {1: 11}))
    consent(alone, 1, 11)
    elect(alone, state(1, 1, {1: 11}))

    assert found(alone) == []


def test_a_broker_that_has_not_asked_is_not_left_out() -> None:
    trace = run()
    elect(trace, state(1, 1, {1: 11}))

    assert found(trace) == [
        "orders/0 at zxid 21: broker 2, registered as 12, is left out of the ISR."
    ]


def test_the_next_start_has_not_asked() -> None:
    """The controller knows it since before its last decision about the partition."""
    trace = run()
    consent(trace, 2, 12)
    detect(trace, {1: 11, 2: 32})
    elect(trace, state(1, 1, {1: 11}))
    trace.zookeeper("SetData", ZNODE, state(1, 1, {1: 11, 2: 32}), session=1, zxid=22, version=2)
    assert found(trace) == []

    elect(trace, state(1, 2, {1: 11}), version=2)

    assert found(trace) == [
        "orders/0 at zxid 23: broker 2, registered as 32, is left out of the ISR."
    ]


def test_brokers_that_are_gone_or_cannot_serve_are_left_out() -> None:
    gone = run()
    detect(gone, {1: 11})
    elect(gone, state(1, 1, {1: 11}))
    failed = run()
    line = {"broker_id": 2, "topic": "orders", "partition": 0}
    failed.add("broker-2", Kind.RUN, "LogFailed", line)
    elect(failed, state(1, 1, {1: 11}))
    lossy = run()
    elect(lossy, state(1, 1, {1: 11}), lossy=True)

    assert [found(trace) for trace in (gone, failed, lossy)] == [[], [], []]


def refuse(trace: Trace, error_code: str) -> None:
    line = {"broker_id": 2, "topic": "orders", "partition": 0, "error_code": error_code}
    trace.add("broker-2", Kind.REFUSAL, RefusalKind.REFUSE_COMMAND, line)


@pytest.mark.parametrize(
    ("error_code", "expected"), [("REPLICA_NOT_AVAILABLE", 0), ("STALE_BROKER_EPOCH", 1)]
)
def test_a_broker_that_cannot_serve_says_so(error_code: str, expected: int) -> None:
    trace = run()
    refuse(trace, error_code)
    elect(trace, state(1, 1, {1: 11}))

    assert len(found(trace)) == expected


def test_a_member_that_stands_as_another_incarnation_may_be_left_out() -> None:
    trace = run()
    detect(trace, {1: 11, 2: 32})
    elect(trace, state(1, 1, {1: 11, 2: 12}))
    elect(trace, state(1, 2, {1: 11}), version=1)

    assert found(trace) == []


def test_what_counts_is_what_was_known_at_the_last_decision() -> None:
    trace = run(since=state(1, 0, {1: 11, 2: 32}))
    trace.broker(CONTROLLER, Action.ELECT_LEADER, controller_epoch=1, expected_version=7)
    detect(trace, {1: 11, 2: 32})
    trace.broker(CONTROLLER, Action.BECOME_FOLLOWER, leader_epoch=0)
    trace.broker(CONTROLLER, Action.PUBLISH_DECISION, controller_epoch=1)
    elect(trace, state(1, 1, {1: 11}))

    assert found(trace) == []


def test_another_term_knows_nothing_of_consents_before() -> None:
    trace = run()
    consent(trace, 1, 11)
    trace.broker(CONTROLLER, Action.ELECT_CONTROLLER, topic=None, partition=None)
    consent(trace, 4, 44)
    detect(trace, FIRST)
    elect(trace, state(1, 1, {1: 11, 2: 12}))
    result = check(trace.events)

    assert (result.violations, result.premise_count) == ((), 2)


def test_only_what_was_written_upon_a_decision_is_its_election() -> None:
    """Of a decision that a leader was faster than, of nonsense, and of two that look alike."""
    faster = run()
    decided = {"controller_epoch": 1, "expected_version": 0, "assigned_replicas": [1, 2]}
    faster.broker(CONTROLLER, Action.ELECT_LEADER, **decided)
    faster.zookeeper("SetData", ZNODE, state(1, 0, {1: 11}), session=1, zxid=21, version=1)
    nonsense = run()
    elect(nonsense, "?")
    twice = run()
    elect(twice, state(1, 1, {1: 11}))
    twice.zookeeper("Delete", ZNODE, "", session=1, zxid=22)
    twice.zookeeper("Create", ZNODE, FULL, session=1, zxid=23)
    twice.zookeeper("SetData", ZNODE, state(1, 1, {1: 11}), session=3, zxid=24, version=1)

    assert [found(trace) for trace in (faster, nonsense, twice)] == [[], [], []]


def test_a_decision_is_judged_once() -> None:
    trace = run()
    elect(trace, FULL.replace('"leader_epoch": 0', '"leader_epoch": 1'))
    told = {"controller_epoch": 1, "expected_version": 0, "assigned_replicas": [1, 2]}
    trace.broker(CONTROLLER, Action.PUBLISH_DECISION, **told)

    assert check(trace.events).premise_count == 1


def test_without_a_leader_or_with_what_the_operator_allows_members_may_go() -> None:
    leaderless, unclean = run(), run()
    elect(leaderless, state(-1, 1, {1: 11}))
    elect(unclean, state(1, 1, {1: 11}))
    unclean.events = [
        replace(event, is_unclean=event.action == Action.ELECT_LEADER) for event in unclean.events
    ]

    assert [found(trace) for trace in (leaderless, unclean)] == [[], []]


def test_a_broker_that_came_since_the_last_decision_may_be_left_out() -> None:
    """It was away, and let into the ISR by its leader before the controller decided about that."""
    trace = run(since=state(1, 0, {1: 11, 2: 32}))
    detect(trace, {1: 11, 2: 32})
    elect(trace, state(1, 1, {1: 11}))

    assert found(trace) == []


def expand(trace: Trace, data: str, version: int) -> None:
    """The leader, broker 2, writes the state."""
    zxid = 21 + version
    trace.zookeeper("SetData", ZNODE, data, session=2, zxid=zxid, version=version + 1)


def test_a_broker_that_was_let_go_stays_out() -> None:
    trace = run()
    consent(trace, 1, 11)
    elect(trace, state(2, 1, {2: 12}))
    expand(trace, state(2, 1, {1: 11, 2: 12}), 1)

    assert found(trace) == ["orders/0 at zxid 22: broker 1 was let go, and is in the ISR again."]


def test_another_start_another_election_or_another_topic_lets_it_in() -> None:
    started, elected, created = run(), run(), run()
    for trace in (started, elected, created):
        consent(trace, 1, 11)
        elect(trace, state(2, 1, {2: 12}))
    expand(started, state(2, 1, {1: 31, 2: 12}), 1)
    elect(elected, state(2, 2, {2: 12}), 1, lossy=True)
    expand(elected, state(2, 2, {1: 11, 2: 12}), 2)
    created.zookeeper("Delete", ZNODE, "", session=3, zxid=22)
    created.zookeeper("Create", ZNODE, state(2, 0, {2: 12}), session=3, zxid=23)
    expand(created, state(2, 0, {1: 11, 2: 12}), 3)

    assert [found(trace) for trace in (started, elected, created)] == [[], [], []]


def test_lower_levels_give_it_nothing_to_decide() -> None:
    trace = Trace()
    trace.zookeeper("Create", ZNODE, '{"version":1}', session=1, zxid=20)
    trace.broker(CONTROLLER, Action.DETECT_BROKER_CHANGE, topic=None, live_brokers=[1, 2])
    elect(trace, FULL)

    assert check(trace.events).premise_count == 0
