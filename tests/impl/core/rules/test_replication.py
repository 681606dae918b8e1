"""Records and high watermarks, on leaders and followers."""

import pytest
from msgspec.structs import replace

from fencepost.impl.core.rules import replication
from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.rules.replication import note_high_watermark_sent
from fencepost.impl.core.rules.tables import Role
from fencepost.spec.vocabulary import BrokerId, Offset
from tests.impl.core.build import appended, records, replica, state_after
from tests.impl.core.driver import broker_ids

advance_high_watermark = state_after(replication.advance_high_watermark)
follower_append = state_after(replication.follower_append)
serve_fetch = state_after(replication.serve_fetch)


def leader(end: int = 5, high: int = 0, since_ms: int = 100) -> Replica:
    return replace(replica(Role.LEADER, epoch=3, end=end, high=high), leading_since_ms=since_ms)


def fetched(start: Replica, **ends: int) -> Replica:
    """Followers named `b2`, `b3` have fetched from these offsets, at 200 ms."""
    for name, end in ends.items():
        start = serve_fetch(start, BrokerId(int(name[1:])), Offset(end), 200)
    return start


# Appending


def test_a_leaders_first_record_begins_its_epoch() -> None:
    once = appended(leader(), 2)
    twice = appended(once, 1)

    assert once.epoch_starts == twice.epoch_starts == ((0, 0), (3, 5))
    assert (once.log_end_offset, twice.log_end_offset) == (7, 8)
    assert twice.high_watermark == 0


@pytest.mark.parametrize("role", [Role.FOLLOWER, Role.WAITING])
def test_only_a_leader_appends_on_its_own(role: Role) -> None:
    with pytest.raises(AssertionError, match="only a leader"):
        appended(replica(role), 1)


@pytest.mark.parametrize("role", [Role.LEADER, Role.WAITING])
def test_only_a_follower_takes_fetched_records(role: Role) -> None:
    with pytest.raises(AssertionError, match="only a follower"):
        follower_append(replica(role), (), Offset(0))


def test_a_follower_learns_epochs_from_records() -> None:
    after = follower_append(replica(Role.FOLLOWER, end=2), records(0, 2, 2, 5), Offset(4))

    assert after.epoch_starts == ((0, 0), (2, 3), (5, 5))
    assert (after.log_end_offset, after.high_watermark) == (6, 4)


@pytest.mark.parametrize(("told", "high_watermark"), [(9, 5), (5, 5), (2, 2)])
def test_a_followers_high_watermark_is_the_leaders_capped_by_its_log_end(
    told: int, high_watermark: int
) -> None:
    follower = replica(Role.FOLLOWER, end=5, high=3)

    assert follower_append(follower, (), Offset(told)).high_watermark == high_watermark


# What a leader learns from fetches


def test_a_fetch_at_the_log_end_is_caught_up_now() -> None:
    progress = serve_fetch(leader(), BrokerId(2), Offset(5), 200).followers[BrokerId(2)]

    assert (progress.log_end_offset, progress.caught_up_ms, progress.fetched_ms) == (5, 200, 200)
    assert progress.leader_end_at_fetch == 5


def test_a_first_fetch_below_the_log_end_counts_from_the_take_over() -> None:
    progress = serve_fetch(leader(), BrokerId(2), Offset(4), 200).followers[BrokerId(2)]

    assert progress.caught_up_ms == 100


def test_reaching_the_earlier_log_end_is_caught_up_at_the_earlier_fetch() -> None:
    once = appended(serve_fetch(leader(), BrokerId(2), Offset(2), 200), 3)

    behind = serve_fetch(once, BrokerId(2), Offset(4), 300).followers[BrokerId(2)]
    reached = serve_fetch(once, BrokerId(2), Offset(5), 300).followers[BrokerId(2)]

    assert behind.caught_up_ms == 100
    assert reached.caught_up_ms == 200


def test_a_steady_follower_of_a_busy_leader_stays_caught_up() -> None:
    busy, end = leader(), 5
    for now_ms in range(200, 1000, 100):
        busy = appended(serve_fetch(busy, BrokerId(2), Offset(end), now_ms), 2)
        end += 1 if now_ms == 200 else 2

    assert busy.followers[BrokerId(2)].caught_up_ms >= 800


def test_one_followers_fetch_changes_nothing_about_another() -> None:
    before = fetched(leader(), b2=3)

    after = fetched(before, b3=5)

    assert after.followers[BrokerId(2)] is before.followers[BrokerId(2)]
    assert BrokerId(3) not in before.followers


def test_what_a_follower_was_told_survives_its_next_fetch() -> None:
    told = note_high_watermark_sent(fetched(leader(high=2), b2=3), BrokerId(2))

    assert told.followers[BrokerId(2)].high_watermark_sent == 2
    assert fetched(told, b2=4).followers[BrokerId(2)].high_watermark_sent == 2
    assert note_high_watermark_sent(told, BrokerId(2)) is told


def test_a_follower_unknown_in_this_epoch_was_told_nothing() -> None:
    fresh = leader(high=2)

    assert note_high_watermark_sent(fresh, BrokerId(2)) is fresh


# The high watermark


@pytest.mark.parametrize(
    ("ends", "high_watermark"),
    [
        ({"b2": 4, "b3": 3}, 3),
        ({"b2": 5, "b3": 5}, 5),
        ({"b2": 4}, 0),
        ({}, 0),
    ],
)
def test_everyone_in_the_isr_must_be_known_to_hold_what_is_committed(
    ends: dict[str, int], high_watermark: int
) -> None:
    assert advance_high_watermark(fetched(leader(), **ends)).high_watermark == high_watermark


def test_a_follower_outside_the_isr_is_not_asked() -> None:
    two = replace(fetched(leader(), b2=4, b3=1), isr=broker_ids(1, 2))

    assert advance_high_watermark(two).high_watermark == 4


def test_an_isr_of_one_commits_at_once() -> None:
    alone = replace(leader(), isr=broker_ids(1))

    assert advance_high_watermark(alone).high_watermark == 5


@pytest.mark.parametrize("wanted", [broker_ids(1), broker_ids(1, 2)])
def test_a_shrink_in_flight_still_needs_the_old_members(wanted: frozenset[BrokerId]) -> None:
    shrinking = replace(fetched(leader(), b2=5, b3=2), wanted_isr=wanted)

    assert advance_high_watermark(shrinking).high_watermark == 2


def test_an_expansion_in_flight_already_needs_the_new_members() -> None:
    growing = replace(
        fetched(leader(), b2=5, b3=2), isr=broker_ids(1, 2), wanted_isr=broker_ids(1, 2, 3)
    )

    assert advance_high_watermark(growing).high_watermark == 2


def test_the_high_watermark_of_a_leader_never_moves_back() -> None:
    ahead = fetched(leader(high=4), b2=2, b3=2)

    assert advance_high_watermark(ahead) is ahead


def test_a_fenced_leader_commits_nothing() -> None:
    fenced = replace(fetched(leader(), b2=5, b3=5), is_fenced=True)

    assert advance_high_watermark(fenced) is fenced


def test_who_does_not_lead_commits_nothing() -> None:
    follower = replace(replica(Role.FOLLOWER, end=5), isr=broker_ids(1))

    assert advance_high_watermark(follower) is follower
