"""The ISR: who is asked out, who is let in, and when nothing may be asked."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from fencepost.impl.core.rules import isr, replication
from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.rules.tables import Role
from fencepost.spec.vocabulary import BrokerId, Offset, ZnodeVersion
from tests.impl.core.build import appended, replica, state_after
from tests.impl.core.driver import broker_ids

LAG_MS = 1000
shrink_isr = state_after(isr.shrink_isr)
expand_isr = state_after(isr.expand_isr)
adopt_isr = state_after(isr.adopt_isr)
fence_leader = state_after(isr.fence_leader)
serve_fetch = state_after(replication.serve_fetch)


def leader(isr: frozenset[BrokerId] = broker_ids(1, 2, 3), end: int = 5, high: int = 0) -> Replica:
    return replace(replica(Role.LEADER, epoch=3, end=end, high=high), isr=isr, leading_since_ms=100)


def fetch(start: Replica, follower: int, offset: int, now_ms: int) -> Replica:
    return serve_fetch(start, BrokerId(follower), Offset(offset), now_ms)


# Shrinking


def test_members_that_never_fetched_are_asked_out_a_lag_after_the_take_over() -> None:
    assert shrink_isr(leader(), 1100, LAG_MS).wanted_isr is None
    assert shrink_isr(leader(), 1101, LAG_MS).wanted_isr == broker_ids(1)


def test_only_laggards_are_asked_out() -> None:
    both = fetch(fetch(leader(), 2, 5, 900), 3, 4, 900)

    assert shrink_isr(both, 1500, LAG_MS).wanted_isr == broker_ids(1, 2)


def test_an_idle_caught_up_member_does_not_lag() -> None:
    idle = leader(isr=broker_ids(1, 2))
    for now_ms in range(200, 10_000, 300):
        idle = fetch(idle, 2, 5, now_ms)
        assert shrink_isr(idle, now_ms + 299, LAG_MS) is idle


def test_a_member_that_fetches_but_never_catches_up_lags() -> None:
    behind = leader(isr=broker_ids(1, 2))
    for step in range(12):
        behind = appended(fetch(behind, 2, step, 200 + step * 100), 10)

    assert shrink_isr(behind, 1300, LAG_MS).wanted_isr == broker_ids(1)


def test_a_silent_member_lags_without_any_traffic() -> None:
    quiet = fetch(leader(isr=broker_ids(1, 2)), 2, 5, 200)

    assert shrink_isr(quiet, 1200, LAG_MS) is quiet
    assert shrink_isr(quiet, 1201, LAG_MS).wanted_isr == broker_ids(1)


def test_the_leader_itself_is_never_asked_out() -> None:
    alone = leader(isr=broker_ids(1))

    assert shrink_isr(alone, 10**9, LAG_MS) is alone
    assert BrokerId(1) in (shrink_isr(leader(), 10**9, LAG_MS).wanted_isr or ())


def test_a_laggard_outside_the_isr_is_no_reason_to_write() -> None:
    assert shrink_isr(leader(isr=broker_ids(1)), 10**6, LAG_MS).wanted_isr is None


# Expanding


@pytest.mark.parametrize(
    ("offset", "high", "epoch_start", "joins"),
    [(4, 4, 0, True), (3, 4, 0, False), (4, 2, 5, False), (5, 2, 5, True), (9, 4, 5, True)],
)
def test_a_follower_joins_at_high_watermark_and_epoch_start(
    offset: int, high: int, epoch_start: int, joins: bool
) -> None:
    before = replace(
        leader(isr=broker_ids(1), end=9, high=high), epoch_start_offset=Offset(epoch_start)
    )

    after = expand_isr(fetch(before, 2, offset, 200), 200, LAG_MS)

    assert after.wanted_isr == (broker_ids(1, 2) if joins else None)


def test_a_follower_that_fell_silent_does_not_come_back_because_another_fetches() -> None:
    """It had all there is when it fell silent, and is asked out for its silence alone."""
    silent = fetch(leader(), 2, 5, 200)
    shrunk = shrink_isr(fetch(silent, 3, 5, 1_500), 1_500, LAG_MS)
    assert shrunk.wanted_isr == broker_ids(1, 3)
    alone = adopt_isr(shrunk, broker_ids(1, 3), ZnodeVersion(8))

    after = fetch(alone, 3, 5, 1_510)
    assert expand_isr(after, 1_510, LAG_MS) is after
    back = fetch(after, 2, 5, 1_520)
    assert expand_isr(back, 1_520, LAG_MS).wanted_isr == broker_ids(1, 2, 3)


@pytest.mark.parametrize("now_ms", range(200, 3_000, 100))
def test_nobody_is_asked_in_who_would_be_asked_out_at_once(now_ms: int) -> None:
    before = fetch(fetch(leader(isr=broker_ids(1)), 2, 5, 200), 3, 5, 700)

    after = expand_isr(before, now_ms, LAG_MS)

    if after.wanted_isr is not None:
        adopted = adopt_isr(after, after.wanted_isr, ZnodeVersion(8))
        assert shrink_isr(adopted, now_ms, LAG_MS) is adopted


def test_several_join_at_once() -> None:
    both = fetch(fetch(leader(isr=broker_ids(1)), 2, 5, 200), 3, 5, 200)

    assert expand_isr(both, 200, LAG_MS).wanted_isr == broker_ids(1, 2, 3)


def test_a_broker_that_is_not_assigned_never_joins() -> None:
    stranger = fetch(leader(isr=broker_ids(1)), 9, 5, 200)

    assert expand_isr(stranger, 200, LAG_MS) is stranger


def test_members_have_no_need_to_join() -> None:
    member = fetch(leader(), 2, 5, 200)

    assert expand_isr(member, 200, LAG_MS) is member


# One change at a time, and only by a leader that is not fenced


@pytest.mark.parametrize(
    "change",
    [lambda r: shrink_isr(r, 10**6, LAG_MS), lambda r: expand_isr(r, 200, LAG_MS)],
)
def test_nothing_is_asked_while_a_change_is_in_flight_or_the_leader_is_none(
    change: Callable[[Replica], Replica],
) -> None:
    ready = fetch(leader(isr=broker_ids(1, 3)), 2, 5, 200)
    in_flight = replace(ready, wanted_isr=broker_ids(1, 2))
    fenced = replace(ready, is_fenced=True)
    follower = replace(ready, role=Role.FOLLOWER)

    assert change(ready) is not ready
    assert change(in_flight) is in_flight
    assert change(fenced) is fenced
    assert change(follower) is follower


def test_the_isr_changes_only_when_zookeeper_holds_it() -> None:
    wanting = shrink_isr(leader(), 5000, LAG_MS)

    assert wanting.isr == broker_ids(1, 2, 3)
    adopted = adopt_isr(wanting, broker_ids(1), ZnodeVersion(8))
    assert (adopted.isr, adopted.znode_version) == (broker_ids(1), 8)
    assert adopted.wanted_isr is None
    assert adopted.maximal_isr == broker_ids(1)


def test_a_fenced_leader_wants_nothing_and_keeps_what_it_believed() -> None:
    fenced = fence_leader(shrink_isr(leader(), 5000, LAG_MS))

    assert fenced.is_fenced
    assert fenced.is_leader
    assert fenced.wanted_isr is None
    assert fenced.isr == broker_ids(1, 2, 3)
