"""Incarnations of brokers, as a broker, a leader and a controller see them (level 3)."""

import pytest
from msgspec.structs import replace

from fencepost.impl.core.levels import LEVELS
from fencepost.impl.core.rules import isr, replication
from fencepost.impl.core.rules.incarnations import (
    incarnation_fetch_error,
    is_stale_broker_epoch,
    meet_follower,
    other_incarnations,
    tell_decided_state,
    with_incarnations,
)
from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.rules.tables import Role
from fencepost.impl.core.types.messages import FetchRequest, LeaderAndIsrRequest
from fencepost.spec.vocabulary import (
    NO_BROKER,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    ErrorCode,
    Offset,
)
from fencepost.spec.znodes import LeaderAndIsr, parse_leader_and_isr
from tests.impl.core.build import replica, state, state_after
from tests.impl.core.driver import broker_ids

LAG_MS = 1000
ONE, TWO = BrokerId(1), BrokerId(2)
serve_fetch = state_after(replication.serve_fetch)
expand_isr = state_after(isr.expand_isr)
advance = state_after(replication.advance_high_watermark)


def epochs(**given: int) -> dict[BrokerId, BrokerEpoch]:
    """`b1=10`: broker 1 is registered as 10."""
    return {BrokerId(int(name[1:])): BrokerEpoch(epoch) for name, epoch in given.items()}


def named(leader: int, *isr: int, **joined: int) -> LeaderAndIsr:
    return replace(state(leader, 0, isr), isr_broker_epochs=epochs(**joined))


def leader(*members: int, **joined: int) -> Replica:
    """Broker 1 leads from offset 5 on, and nothing is committed."""
    start = replica(Role.LEADER, epoch=3, end=5, high=0)
    return replace(start, isr=broker_ids(*members), isr_broker_epochs=epochs(**joined))


def fetched(start: Replica, follower: int, epoch: int, offset: int = 5) -> Replica:
    met = meet_follower(start, BrokerId(follower), BrokerEpoch(epoch))
    return serve_fetch(met, BrokerId(follower), Offset(offset), 200)


@pytest.mark.parametrize(("command", "is_stale"), [(9, True), (10, False), (11, False), (0, False)])
def test_only_a_command_for_an_earlier_start_is_stale(command: int, is_stale: bool) -> None:
    assert is_stale_broker_epoch(BrokerEpoch(10), BrokerEpoch(command)) is is_stale
    assert not LEVELS[2].is_stale_broker_epoch(BrokerEpoch(10), BrokerEpoch(command))


def test_a_commit_counts_the_incarnation_that_is_in_the_isr() -> None:
    start = leader(1, 2, b1=9, b2=10)

    assert advance(fetched(start, 2, 10)).high_watermark == 5
    assert advance(fetched(start, 2, 30)).high_watermark == 0
    assert advance(fetched(fetched(start, 2, 10), 2, 30)).high_watermark == 0


def test_a_later_incarnation_is_met_when_the_controller_tells_of_it() -> None:
    asked_as_before = fetched(leader(1, b1=9), 2, 10)
    assert expand_isr(asked_as_before, 250, LAG_MS).wanted_isr == broker_ids(1, 2)

    for level in (4, 5):
        met = LEVELS[level].meet_registered(asked_as_before, epochs(b1=9, b2=30))
        assert met.follower_broker_epochs == epochs(b2=30)
        assert expand_isr(met, 250, LAG_MS) is met
    assert LEVELS[3].meet_registered(asked_as_before, epochs(b2=30)) is asked_as_before


@pytest.mark.parametrize("told", [epochs(), epochs(b2=9), epochs(b2=10), epochs(b3=30)])
def test_a_follower_is_not_met_as_what_its_controller_has_yet_to_see(
    told: dict[BrokerId, BrokerEpoch],
) -> None:
    start = fetched(leader(1, b1=9), 2, 10)

    assert LEVELS[5].meet_registered(start, told) is start


def test_a_follower_that_names_no_incarnation_is_none_before() -> None:
    start = fetched(leader(1, b1=9), 2, 0)

    assert LEVELS[5].meet_registered(start, epochs(b2=30)) is start


def test_a_fetch_of_an_earlier_incarnation_is_refused() -> None:
    met = fetched(leader(1, 2, b1=9, b2=10), 2, 30)

    def error(epoch: int, replica_id: int = 2) -> ErrorCode:
        request = FetchRequest(
            topic="t",
            partition=0,
            replica_id=BrokerId(replica_id),
            leader_epoch=met.leader_epoch,
            fetch_offset=Offset(0),
            broker_epoch=BrokerEpoch(epoch),
        )
        return incarnation_fetch_error(met, request)

    assert error(10) is ErrorCode.STALE_BROKER_EPOCH
    assert error(30) is error(31) is error(0, NO_BROKER) is ErrorCode.NONE


def test_a_follower_joins_under_the_epoch_of_its_fetch() -> None:
    start = replace(leader(1, b1=9), assigned_replicas=(ONE, TWO), leading_since_ms=100)

    wanting = expand_isr(fetched(start, 2, 30), 250, LAG_MS)

    assert wanting.wanted_isr == broker_ids(1, 2)
    assert wanting.isr_broker_epochs == epochs(b1=9, b2=30)
    assert advance(wanting).high_watermark == 5


def test_another_incarnation_of_a_member_lags_at_once() -> None:
    start = replace(leader(1, 2, b1=9, b2=10), leading_since_ms=100)
    known = fetched(start, 2, 10)

    assert state_after(isr.shrink_isr)(known, 1101, LAG_MS).wanted_isr is None
    assert state_after(isr.shrink_isr)(
        fetched(known, 2, 30), 1101, LAG_MS
    ).wanted_isr == broker_ids(1)


def test_a_member_under_another_epoch_was_away_whatever_is_remembered() -> None:
    live = epochs(b1=9, b2=30)

    assert other_incarnations(named(1, 1, 2, b1=9, b2=10), live, frozenset()) == {2}
    assert other_incarnations(named(1, 1, 2, b1=9, b2=30), live, frozenset()) == set()
    assert other_incarnations(named(1, 1, 2), live, broker_ids(1)) == {1}
    assert other_incarnations(named(1, 1, 3, b1=9, b3=7), live, frozenset()) == set()


def test_a_decision_names_the_leader_that_is_live_and_the_members_that_joined() -> None:
    live = epochs(b1=19, b2=30, b3=40)

    def given(decided: LeaderAndIsr) -> object:
        return with_incarnations(decided, live).isr_broker_epochs

    assert given(named(1, 1, 2)) == epochs(b1=19, b2=30)
    assert given(named(1, 1, 2, b1=9, b2=10)) == epochs(b1=19, b2=10)
    assert given(named(NO_BROKER, 1, b1=9)) == epochs(b1=9)


def test_a_leader_that_bounced_is_not_told_to_lead() -> None:
    live = epochs(b1=19)

    assert not tell_decided_state(named(1, 1, b1=9), live)
    assert tell_decided_state(named(1, 1, b1=19), live)
    assert tell_decided_state(named(1, 1), live)
    assert tell_decided_state(named(2, 1, 2, b1=9, b2=10), live)
    assert tell_decided_state(named(NO_BROKER, 1, b1=9), live)


def test_a_document_has_the_epochs_in_the_order_of_the_isr() -> None:
    path = "/brokers/topics/t/0/leaderAndISR"
    written = named(2, 2, 1, b1=9, b2=30)

    assert b'"isr":[1,2]' in written.document()
    assert b'"isr_broker_epochs":[9,30]' in written.document()
    assert parse_leader_and_isr(path, written.document()) == written
    assert b"isr_broker_epochs" not in named(1, 1).document()


def test_a_command_of_level_4_names_the_largest_epoch_that_was_read() -> None:
    live = epochs(b1=9, b2=12)

    assert LEVELS[4].stamp(live[ONE], live) == (0, 12)
    assert LEVELS[3].stamp(live[ONE], live) == (9, 0)
    assert LEVELS[2].stamp(live[ONE], live) == (0, 0)


def test_a_broker_that_registered_after_the_listing_is_left_out() -> None:
    live = epochs(b1=9, b2=12)

    assert LEVELS[4].known_registrations(live, 11) == epochs(b1=9)
    assert LEVELS[4].known_registrations(live, 12) == live
    assert LEVELS[3].known_registrations(live, 11) == live


@pytest.mark.parametrize(
    ("own", "largest", "is_stale"), [(0, 9, True), (0, 10, False), (9, 0, True), (10, 0, False)]
)
def test_level_4_takes_the_old_field_where_the_new_one_is_missing(
    own: int, largest: int, is_stale: bool
) -> None:
    command = LeaderAndIsrRequest(
        controller_id=ONE,
        controller_epoch=ControllerEpoch(1),
        partitions=(),
        broker_epoch=BrokerEpoch(own),
        max_broker_epoch=BrokerEpoch(largest),
    )

    assert is_stale_broker_epoch(BrokerEpoch(10), LEVELS[4].stamp_of(command)) is is_stale
