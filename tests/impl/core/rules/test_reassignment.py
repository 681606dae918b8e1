"""The steps of a move as pure functions, and as a node takes them: none leads astray."""

from hypothesis import given, settings, strategies as st

from fencepost.impl.core.config import Config
from fencepost.impl.core.rules.controller.reassignment import (
    Assignment,
    advance_reassignment,
    complete_reassignment,
)
from fencepost.impl.core.types.zookeeper import Delete
from fencepost.spec.vocabulary import ANY_VERSION, Action, BrokerId, ErrorCode
from fencepost.spec.znodes import PARTITIONS_REASSIGNED, request_path
from tests.impl.core.build import ME, T0, state
from tests.impl.core.driver import Driver, broker_ids
from tests.impl.core.moving import acknowledge, exists, governed, join_isr, reassign, topic

LIVE = broker_ids(1, 2, 3, 4)
BROKERS = st.permutations(sorted(LIVE)).flatmap(
    lambda order: st.integers(1, 4).map(lambda count: tuple(order[:count]))
)


def assigned(*replicas: int, adding: tuple[int, ...] = ()) -> Assignment:
    return Assignment(assigned=tuple(map(BrokerId, replicas)), adding=broker_ids(*adding))


def target(*replicas: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, replicas))


def test_new_replicas_are_written_down_first_and_give_up_nothing() -> None:
    step = advance_reassignment(assigned(1, 2), state(1, 4, (1, 2)), target(3), LIVE)

    assert step is not None
    assert step.assignment == assigned(1, 2, 3, adding=(3,))
    assert step.state == state(1, 5, (1, 2))


def test_the_switch_names_a_leader_out_of_the_target() -> None:
    moving = assigned(1, 2, 3, adding=(3,))
    step = advance_reassignment(moving, state(1, 5, (1, 2, 3)), target(3), LIVE)

    assert step is not None
    assert step.state == state(3, 6, (3,))
    assert step.assignment.removing == {1, 2}


def test_a_live_member_of_the_target_is_preferred_as_leader() -> None:
    moving = assigned(1, 2, 3, adding=(2, 3))
    step = advance_reassignment(moving, state(1, 5, (1, 2, 3)), target(2, 3), broker_ids(1, 3))

    assert step is not None
    assert step.state.leader == 3


def test_the_switch_waits_for_every_target_and_not_for_old_replicas() -> None:
    moving = assigned(1, 2, 3, 4, adding=(3, 4))

    assert advance_reassignment(moving, state(1, 5, (1, 3)), target(3, 4), LIVE) is None
    assert advance_reassignment(moving, state(1, 5, (1, 3, 4)), target(3, 4), LIVE)


def test_a_member_of_the_isr_that_nobody_wants_any_more_is_never_the_last() -> None:
    moving = assigned(1, 3, adding=(3,))

    assert advance_reassignment(moving, state(3, 5, (3,)), None, LIVE) is None


def test_the_end_takes_the_order_of_the_request_and_comes_after_the_switch() -> None:
    switched = Assignment(assigned=target(2, 3), removing=broker_ids(1))

    assert complete_reassignment(switched, target(3, 2)) == assigned(3, 2)
    assert complete_reassignment(assigned(1, 3), target(3)) is None


@given(old=BROKERS, targets=st.lists(st.none() | BROKERS, min_size=1, max_size=4))
@settings(deadline=None)
def test_a_walk_with_changing_targets_keeps_leader_in_isr_in_assignment_and_ends(
    old: tuple[BrokerId, ...], targets: list[tuple[BrokerId, ...] | None]
) -> None:
    """Between two targets at most one step is taken; at the last all catch up."""
    assignment = Assignment(assigned=old)
    now = state(old[0], 0, old)
    for number, wanted in enumerate([*targets, *[targets[-1]] * 4]):
        if number >= len(targets) - 1:
            now = state(now.leader, now.leader_epoch, assignment.assigned)
        step = advance_reassignment(assignment, now, wanted, LIVE)
        if step is None:
            continue
        assert step.state.leader in step.state.isr
        assert step.state.isr <= set(step.assignment.assigned)
        assert step.state.isr <= now.isr
        assert step.state.leader_epoch == now.leader_epoch + 1
        assert not step.assignment.removing & set(step.assignment.assigned)
        assignment, now = step.assignment, step.state

    done = complete_reassignment(assignment, targets[-1])
    assert done is not None
    assert set(done.assigned) == set(targets[-1] or done.assigned)


# On a node


def test_a_request_that_is_made_again_is_not_taken_for_the_first(driver: Driver) -> None:
    """H33c: both have version 0, and the end of the first is on its way."""
    move = request_path(PARTITIONS_REASSIGNED, T0)
    governed(driver, (2, 3))
    reassign(driver, 2, 3, 4)

    def another() -> None:
        assert reassign(driver) is ErrorCode.NONE
        assert reassign(driver, 3, 2) is ErrorCode.NONE

    driver.plan_write(move, None)  # the switch
    driver.plan_write(move, None, first=another)
    join_isr(driver, T0, 2, 3, 4)
    driver.tick(Config(broker_id=ME).retry_ms)
    acknowledge(driver)

    assert topic(driver).partitions["0"] == [3, 2]
    assert len(driver.took(Action.COMPLETE_REASSIGNMENT)) == 2
    assert not exists(driver, move)


def test_a_request_instead_of_one_that_is_done_meanwhile_stands(driver: Driver) -> None:
    move = request_path(PARTITIONS_REASSIGNED, T0)
    governed(driver, (2, 3))
    reassign(driver, 2, 3, 4)
    driver.plan_write(move, None)  # there is one already

    def end() -> None:
        driver.write(Delete(path=move, expected_version=ANY_VERSION))

    driver.plan_write(move, None, first=end)

    assert reassign(driver, 3, 2) is ErrorCode.NONE

    assert exists(driver, move)
