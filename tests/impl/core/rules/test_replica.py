"""Replicas: which commands are obeyed, and where logs are cut."""

import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

from fencepost.impl.core.levels import LEVELS
from fencepost.impl.core.rules import replica as replica_rules, replication
from fencepost.impl.core.rules.commands import is_newer
from fencepost.impl.core.rules.replica import (
    EpochStarts,
    FollowerProgress,
    Replica,
    compare_logs,
    end_offset_for_epoch,
)
from fencepost.impl.core.rules.tables import Role
from fencepost.spec.vocabulary import BrokerId, LeaderEpoch, Offset, ZnodeVersion
from tests.impl.core.build import ME, T0, command, order, replica, state_after
from tests.impl.core.driver import broker_ids

REQUEST = order()
become_leader = state_after(replica_rules.become_leader)
truncate_log = state_after(replica_rules.truncate_log)
serve_fetch = state_after(replication.serve_fetch)


def starts(*pairs: tuple[int, int]) -> EpochStarts:
    return tuple((LeaderEpoch(epoch), Offset(offset)) for epoch, offset in pairs)


# Which command is newer


@pytest.mark.parametrize("role", [Role.LEADER, Role.FOLLOWER])
@pytest.mark.parametrize("leader", [1, 2])
@pytest.mark.parametrize(
    ("leader_epoch", "is_obeyed"), [(3, False), (4, False), (5, True), (9, True)]
)
def test_a_replica_with_a_role_obeys_larger_leader_epochs_only(
    role: Role, leader: int, leader_epoch: int, is_obeyed: bool
) -> None:
    has_role = replica(role, epoch=4, version=7)

    assert is_newer(has_role, command(leader, leader_epoch, version=99)) is is_obeyed


@pytest.mark.parametrize(
    ("leader_epoch", "version", "is_obeyed"),
    [(3, 99, False), (4, 6, False), (4, 7, True), (4, 8, True), (5, 0, True)],
)
def test_a_waiting_replica_follows_what_is_not_older_than_its_floor(
    leader_epoch: int, version: int, is_obeyed: bool
) -> None:
    waiting = replica(epoch=4, version=7)

    assert is_newer(waiting, command(2, leader_epoch, version=version)) is is_obeyed


@pytest.mark.parametrize(
    ("leader_epoch", "version", "is_obeyed"), [(4, 7, False), (4, 8, False), (5, 8, True)]
)
def test_a_waiting_replica_never_leads_in_the_epoch_of_its_floor(
    leader_epoch: int, version: int, is_obeyed: bool
) -> None:
    waiting = replica(epoch=4, version=7)

    assert is_newer(waiting, command(1, leader_epoch, version=version)) is is_obeyed


def test_a_new_replica_obeys_the_first_epoch_in_either_role() -> None:
    assert is_newer(replica(), command(1, 0))
    assert is_newer(replica(), command(2, 0))


def test_the_floor_is_what_was_read() -> None:
    floored = replica(end=2).with_floor(LeaderEpoch(4), ZnodeVersion(7))

    assert (floored.leader_epoch, floored.znode_version) == (4, 7)
    assert floored.role is Role.WAITING
    assert floored.log_end_offset == 2


# Taking a role


def test_a_new_leader_knows_nothing_of_its_followers_and_forgets_what_it_wanted() -> None:
    before = replace(
        serve_fetch(replica(Role.LEADER, epoch=1, end=3, high=1), BrokerId(2), Offset(3), 5),
        wanted_isr=broker_ids(1, 2),
        is_fenced=True,
    )

    after = become_leader(before, command(1, 2, isr=(1, 2), version=8), REQUEST, 700)

    assert after.is_leader
    assert (after.leader_epoch, after.znode_version, after.controller_epoch) == (2, 8, 1)
    assert after.isr == after.maximal_isr == broker_ids(1, 2)
    assert dict(after.followers) == {}
    assert not after.is_fenced
    assert (after.epoch_start_offset, after.leading_since_ms) == (3, 700)
    assert (after.log_end_offset, after.high_watermark) == (3, 1)


@pytest.mark.parametrize(
    ("end", "level", "needs_truncation"),
    [(3, 2, True), (3, 1, False), (3, 0, False), (0, 2, False)],
)
def test_a_follower_with_records_compares_logs_first_from_level_2_on(
    end: int, level: int, needs_truncation: bool
) -> None:
    before = replica(Role.LEADER, epoch=1, end=end)

    after = state_after(LEVELS[level].become_follower)(before, command(2, 2), REQUEST)

    assert after.role is Role.FOLLOWER
    assert after.leader == 2
    assert after.needs_truncation is needs_truncation


def test_a_new_epoch_of_the_same_leader_is_compared_again() -> None:
    before = replica(Role.FOLLOWER, epoch=1, end=3)

    after = state_after(LEVELS[2].become_follower)(before, command(2, 2), REQUEST)

    assert after.needs_truncation


def test_a_leader_needs_no_truncation_even_if_it_did_as_follower() -> None:
    before = replace(replica(Role.FOLLOWER, epoch=1, end=3), needs_truncation=True)

    assert not become_leader(before, command(1, 2), REQUEST, 0).needs_truncation


def test_the_maximal_isr_joins_old_and_wanted() -> None:
    leader = replace(replica(Role.LEADER), isr=broker_ids(1, 2), wanted_isr=broker_ids(1, 3))

    assert leader.maximal_isr == broker_ids(1, 2, 3)
    assert replace(leader, wanted_isr=None).maximal_isr == broker_ids(1, 2)


# Cutting


@pytest.mark.parametrize(
    ("kept", "is_sound"),
    [
        ((), True),
        (starts((3, 0)), True),
        (starts((2, 0), (3, 4)), True),
        (starts((2, 0), (3, 4), (3, 5)), False),
    ],
)
def test_the_last_epoch_of_a_log_begins_once(kept: EpochStarts, is_sound: bool) -> None:
    log = replace(replica(Role.FOLLOWER, epoch=9, end=10), epoch_starts=kept)

    assert replica_rules.begins_anew(log) is is_sound


LONG = replace(
    replica(Role.FOLLOWER, epoch=9, end=10, high=6),
    epoch_starts=starts((0, 0), (2, 4), (5, 7)),
)


@pytest.mark.parametrize(
    ("offset", "high_watermark", "kept"),
    [
        (9, 6, starts((0, 0), (2, 4), (5, 7))),
        (7, 6, starts((0, 0), (2, 4))),
        (6, 6, starts((0, 0), (2, 4))),
        (5, 5, starts((0, 0), (2, 4))),
        (4, 4, starts((0, 0))),
        (0, 0, ()),
    ],
)
def test_truncation_drops_epochs_without_records_and_lowers_the_high_watermark(
    offset: int, high_watermark: int, kept: EpochStarts
) -> None:
    after = truncate_log(LONG, Offset(offset))

    assert (after.log_end_offset, after.high_watermark) == (offset, high_watermark)
    assert after.epoch_starts == kept


@pytest.mark.parametrize("offset", [10, 11])
def test_truncation_never_makes_a_log_longer(offset: int) -> None:
    assert truncate_log(LONG, Offset(offset)) is LONG


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (-1, (-1, 0)),
        (0, (0, 4)),
        (1, (0, 4)),
        (2, (2, 7)),
        (4, (2, 7)),
        (5, (5, 10)),
        (8, (5, 10)),
    ],
)
def test_the_end_of_an_epoch_is_the_start_of_the_next_one(
    asked: int, answer: tuple[int, int]
) -> None:
    assert end_offset_for_epoch(LONG, LeaderEpoch(asked)) == answer


def test_an_epoch_before_the_first_one_ends_nowhere() -> None:
    young = replace(LONG, epoch_starts=starts((3, 0), (5, 7)))

    assert end_offset_for_epoch(young, LeaderEpoch(2)) == (-1, 0)
    assert end_offset_for_epoch(replica(), LeaderEpoch(2)) == (-1, 0)


@pytest.mark.parametrize(
    ("leader_epoch", "end_offset", "cut"),
    [
        pytest.param(5, 9, (9, True), id="same epoch, the leader's is shorter"),
        pytest.param(5, 12, (10, True), id="same epoch, ours is shorter"),
        pytest.param(2, 5, (5, True), id="the leader never had our last epoch"),
        pytest.param(4, 9, (7, False), id="the leader's epoch is unknown here: ask again"),
        pytest.param(1, 2, (4, False), id="asked again below a gap"),
        pytest.param(-1, 0, (0, True), id="nothing is shared"),
    ],
)
def test_logs_are_compared_epoch_by_epoch(
    leader_epoch: int, end_offset: int, cut: tuple[int, bool]
) -> None:
    assert compare_logs(LONG, LeaderEpoch(leader_epoch), Offset(end_offset)) == cut


# Two explicit logs, by Hypothesis

Entry = tuple[int, int]
"""Epoch and a serial number that makes every record another one."""

Log = list[Entry]

HistoryStep = tuple[int, int, list[tuple[int, int]]]
"""Who leads the next epoch, how much it appends, and (who, how far) it is followed."""

HISTORIES = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(0, 4),
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), max_size=3),
    ),
    max_size=8,
)


def common_prefix(one: Log, other: Log) -> int:
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def play(history: list[HistoryStep]) -> list[Log]:
    """The logs of three replicas: one leader per epoch, followers cut and copy in part."""
    logs: list[Log] = [[], [], []]
    serial = 0
    for epoch, (leader, count, followed) in enumerate(history):
        for _ in range(count):
            serial += 1
            logs[leader].append((epoch, serial))
        for who, how_far in followed:
            if who != leader:
                shared = common_prefix(logs[who], logs[leader])
                logs[who] = logs[leader][: shared + how_far]
    return logs


def replica_of(log: Log, epoch: int) -> Replica:
    first: dict[int, int] = {}
    for offset, (record_epoch, _) in enumerate(log):
        first.setdefault(record_epoch, offset)
    return replace(
        replica(Role.FOLLOWER, epoch=epoch, end=len(log)), epoch_starts=starts(*first.items())
    )


def reconcile(follower: Replica, leader: Replica) -> Replica:
    """As the follower does it: ask about its last epoch, cut, until both agree."""
    for _ in range(len(follower.epoch_starts) + 2):
        answer = end_offset_for_epoch(leader, follower.last_epoch)
        offset, agree = compare_logs(follower, *answer)
        follower = truncate_log(follower, offset)
        if agree or not follower.log_end_offset:
            return follower
    raise AssertionError("the logs are compared without end")


@settings(max_examples=300)
@given(HISTORIES)
def test_comparing_ends_with_exactly_what_both_logs_share(history: list[HistoryStep]) -> None:
    logs = play(history)
    for leader in range(3):
        for follower in range(3):
            shared = common_prefix(logs[follower], logs[leader])

            after = reconcile(
                replica_of(logs[follower], len(history)), replica_of(logs[leader], len(history))
            )

            assert after.log_end_offset == shared
            assert after == replace(
                replica_of(logs[follower][:shared], len(history)),
                high_watermark=after.high_watermark,
            )


def test_epochs_with_gaps_need_more_than_one_question() -> None:
    follower = replica_of([(0, 1), (0, 2), (3, 3), (5, 4)], 7)
    leader = replica_of([(0, 1), (1, 9), (4, 8), (4, 7)], 7)

    first, agree = compare_logs(follower, *end_offset_for_epoch(leader, follower.last_epoch))

    assert (first, agree) == (3, False)
    assert reconcile(follower, leader).log_end_offset == 1


def test_progress_of_followers_never_leaks_into_the_next_epoch() -> None:
    progress = FollowerProgress(
        log_end_offset=Offset(9), caught_up_ms=1, fetched_ms=1, leader_end_at_fetch=Offset(9)
    )
    before = replace(replica(Role.LEADER, epoch=1), followers={BrokerId(2): progress})

    after = state_after(LEVELS[2].become_follower)(before, command(2, 2), REQUEST)

    assert dict(after.followers) == {}
    assert (after.broker_id, after.topic_partition) == (ME, T0)
