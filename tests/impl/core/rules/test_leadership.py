"""Who leads next: FAIL-001 to FAIL-004, bounced brokers, and unclean elections."""

from hypothesis import given, settings, strategies as st

from fencepost.impl.core.rules.controller.leadership import (
    choose_leader,
    first_leader,
    is_loss_possible,
)
from fencepost.impl.core.rules.tables import ElectionCause
from fencepost.spec.vocabulary import NO_BROKER, BrokerId, ControllerEpoch
from fencepost.spec.znodes import LeaderAndIsr
from tests.impl.core.build import state
from tests.impl.core.driver import broker_ids

ASSIGNED = (BrokerId(1), BrokerId(2), BrokerId(3))
NOBODY = broker_ids()


def elect(
    before: LeaderAndIsr,
    live: frozenset[BrokerId],
    bounced: frozenset[BrokerId] = NOBODY,
    *,
    unclean: bool = False,
) -> LeaderAndIsr | None:
    cause = ElectionCause.UNCLEAN_ALLOWED if unclean else ElectionCause.BROKERS_CHANGED
    return choose_leader(before, ASSIGNED, live, bounced, cause)


def elect_preferred(before: LeaderAndIsr, live: frozenset[BrokerId]) -> LeaderAndIsr | None:
    return choose_leader(before, ASSIGNED, live, NOBODY, ElectionCause.PREFERRED_ASKED)


# The first leader


def test_the_first_live_assigned_replica_leads_with_all_live_ones_as_isr() -> None:
    first = first_leader(ASSIGNED, broker_ids(2, 3, 9), ControllerEpoch(4))

    assert first == state(2, 0, (2, 3), controller_epoch=4)


def test_nobody_alive_means_no_first_leader_yet() -> None:
    assert first_leader(ASSIGNED, broker_ids(9), ControllerEpoch(4)) is None


# The next one


def test_all_can_stay_when_leader_and_isr_are_alive() -> None:
    assert elect(state(2, 4, (1, 2)), broker_ids(1, 2)) is None
    assert elect(state(2, 4, (1, 2)), broker_ids(1, 2, 3)) is None


def test_a_dead_leader_is_followed_by_the_preferred_member_of_the_isr() -> None:
    assert elect(state(1, 4, (1, 2, 3)), broker_ids(2, 3)) == state(2, 5, (2, 3))
    assert elect(state(1, 4, (1, 3)), broker_ids(2, 3)) == state(3, 5, (3,))


def test_a_live_leader_stays_when_a_member_dies() -> None:
    assert elect(state(3, 4, (1, 2, 3)), broker_ids(1, 3)) == state(3, 5, (1, 3))


def test_without_live_members_the_partition_waits_and_keeps_its_isr() -> None:
    assert elect(state(1, 4, (1,)), broker_ids(2, 3)) == state(NO_BROKER, 5, (1,))


def test_a_partition_that_waits_is_not_written_again() -> None:
    assert elect(state(NO_BROKER, 5, (1,)), broker_ids(2, 3)) is None
    assert elect(state(NO_BROKER, 5, (1,)), NOBODY) is None


def test_a_partition_that_waits_gets_the_member_that_comes_back() -> None:
    assert elect(state(NO_BROKER, 5, (1, 2)), broker_ids(2, 3)) == state(2, 6, (2,))
    assert elect(state(NO_BROKER, 5, (1,)), broker_ids(1)) == state(1, 6, (1,))


def test_an_unclean_election_takes_the_first_live_assigned_replica_alone() -> None:
    assert elect(state(1, 4, (1,)), broker_ids(3, 2), unclean=True) == state(2, 5, (2,))
    assert elect(state(NO_BROKER, 4, (1,)), broker_ids(3), unclean=True) == state(3, 5, (3,))


def test_an_unclean_election_needs_an_assigned_replica() -> None:
    assert elect(state(1, 4, (1,)), broker_ids(9), unclean=True) == state(NO_BROKER, 5, (1,))


def test_no_election_is_unclean_while_a_member_lives() -> None:
    elected = elect(state(1, 4, (1, 3)), broker_ids(2, 3), unclean=True)

    assert elected == state(3, 5, (3,))


# Bounced


def test_a_bounced_leader_does_not_go_on_under_its_old_epoch() -> None:
    live, bounced = broker_ids(1, 2, 3), broker_ids(1)

    assert elect(state(1, 4, (1, 2, 3)), live, bounced) == state(2, 5, (2, 3))
    assert elect(state(1, 4, (1,)), live, bounced) == state(1, 5, (1,))


def test_a_bounced_member_leaves_the_isr() -> None:
    elected = elect(state(1, 4, (1, 2)), broker_ids(1, 2), broker_ids(2))

    assert elected == state(1, 5, (1,))


def test_when_all_members_bounced_one_leads_alone_the_last_leader_if_it_is_back() -> None:
    before, members = state(3, 4, (2, 3)), broker_ids(2, 3)

    assert elect(before, broker_ids(1, 2, 3), members) == state(3, 5, (3,))
    assert elect(before, broker_ids(1, 2), members) == state(2, 5, (2,))


def test_members_that_come_back_to_a_partition_that_waits_do_not_lead_together() -> None:
    assert elect(state(NO_BROKER, 5, (1, 2)), broker_ids(1, 2, 3)) == state(1, 6, (1,))


def test_records_may_be_lost_where_a_member_leads_that_was_away() -> None:
    before, waiting = state(1, 4, (1, 2)), state(NO_BROKER, 5, (1, 2))

    assert is_loss_possible(before, broker_ids(1, 2), state(1, 5, (1,)))
    assert is_loss_possible(waiting, NOBODY, state(2, 6, (2,)))
    assert not is_loss_possible(before, broker_ids(1), state(2, 5, (2,)))
    assert not is_loss_possible(before, broker_ids(1, 2), state(NO_BROKER, 5, (1, 2)))
    assert not is_loss_possible(before, broker_ids(3), state(3, 5, (3,)))


def test_a_bounced_broker_outside_the_isr_is_no_reason_to_elect() -> None:
    assert elect(state(1, 4, (1, 2)), broker_ids(1, 2, 3), broker_ids(3)) is None


def test_the_controller_epoch_is_the_callers_to_set() -> None:
    before = state(1, 4, (1, 2), controller_epoch=6)

    assert elect(before, broker_ids(2)) == state(2, 5, (2,), controller_epoch=6)


SETS = st.frozensets(st.sampled_from(ASSIGNED))


@settings(max_examples=300)
@given(
    isr=st.frozensets(st.sampled_from(ASSIGNED), min_size=1),
    live=SETS,
    bounced=SETS,
    leads=st.booleans(),
    unclean=st.booleans(),
)
def test_whatever_is_elected_keeps_the_rules(
    isr: frozenset[BrokerId],
    live: frozenset[BrokerId],
    bounced: frozenset[BrokerId],
    leads: bool,
    unclean: bool,
) -> None:
    before = state(min(isr) if leads else NO_BROKER, 4, isr)

    elected = elect(before, live, bounced & live, unclean=unclean)

    if elected is None:
        stays = isr <= live - bounced and before.leader in isr
        waits = before.leader == NO_BROKER and not isr & live and not (unclean and live)
        assert stays or waits
        return
    assert elected.leader_epoch == 5
    assert elected.isr
    if elected.leader == NO_BROKER:
        assert elected.isr == isr
        assert not isr & live
    else:
        assert elected.leader in elected.isr <= live
        assert elected.isr <= isr or (unclean and not isr & live and len(elected.isr) == 1)


def test_elections_come_to_rest() -> None:
    decided = state(1, 0, (1, 2, 3))
    for live in [broker_ids(2, 3), broker_ids(3), NOBODY, broker_ids(1), broker_ids(1, 3)]:
        decided = elect(decided, live) or decided
        assert elect(decided, live) is None


# The preferred leader


def test_the_first_assigned_replica_leads_when_it_is_a_live_member() -> None:
    before = state(2, 4, (1, 2, 3))

    assert elect_preferred(before, broker_ids(1, 2)) == state(1, 5, (1, 2, 3))


def test_the_preferred_replica_leads_already_or_may_not() -> None:
    everybody = broker_ids(1, 2, 3)

    assert elect_preferred(state(1, 4, (1, 2)), everybody) is None
    assert elect_preferred(state(2, 4, (2, 3)), everybody) is None
    assert elect_preferred(state(2, 4, (1, 2)), broker_ids(2, 3)) is None
    assert elect_preferred(state(2, 4, (1, 2)), broker_ids(3)) is None
    assert elect_preferred(state(2, 4, (1, 2)), NOBODY) is None
