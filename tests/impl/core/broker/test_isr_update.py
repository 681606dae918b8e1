"""A leader's writes of the ISR, settled in ZooKeeper whatever becomes of the reply."""

import pytest

from fencepost.impl.core.types.messages import FetchResponse, ProduceResponse
from fencepost.impl.core.types.zookeeper import SetData
from fencepost.spec.vocabulary import Action, ErrorCode
from fencepost.spec.znodes import leader_and_isr_path
from tests.impl.core.build import T0, command, state
from tests.impl.core.driver import Driver, Fate, broker_ids
from tests.impl.core.roles import follower_fetch, leading, obey, produce, replicate

PATH = leader_and_isr_path(T0)
LAG_MS = 2001


def isr_writes(driver: Driver) -> list[SetData]:
    """Every write of the partition's state that was asked for."""
    ops = (op for effect in driver.writes for op in effect.ops)
    return [op for op in ops if isinstance(op, SetData) and op.path == PATH]


def test_laggards_are_asked_out_by_a_conditional_write(driver: Driver) -> None:
    leading(driver)
    driver.tick(LAG_MS)

    assert driver.state(T0) == state(1, 1, (1,))
    (write,) = isr_writes(driver)
    assert write.expected_version == 0
    assert (driver.replica(T0).isr, driver.replica(T0).znode_version) == (broker_ids(1), 1)
    assert len(driver.took(Action.SHRINK_ISR)) == len(driver.took(Action.ADOPT_ISR)) == 1


def test_a_follower_that_caught_up_is_let_in(driver: Driver) -> None:
    leading(driver, isr=(1,))
    driver.deliver(produce("a"), ProduceResponse)

    driver.deliver(follower_fetch(2, 0), FetchResponse)
    assert driver.replica(T0).isr == broker_ids(1)
    driver.deliver(follower_fetch(2, 1), FetchResponse)

    assert driver.state(T0) == state(1, 1, (1, 2))
    assert driver.replica(T0).isr == broker_ids(1, 2)


def test_the_controller_epoch_of_the_decision_is_kept(driver: Driver) -> None:
    leading(driver)
    driver.put_state(T0, state(1, 2, (1, 2, 3), controller_epoch=7))
    obey(driver, command(1, 2, version=1), epoch=7)

    driver.tick(LAG_MS)

    assert driver.state(T0) == state(1, 2, (1,), controller_epoch=7)


def test_while_a_change_is_in_flight_commits_need_old_and_new_members(driver: Driver) -> None:
    leading(driver, isr=(1, 2))
    driver.ask(produce("a"))
    driver.plan_write(PATH, Fate.HOLD)
    driver.tick(LAG_MS)
    driver.tick(LAG_MS)

    assert len(isr_writes(driver)) == 1
    assert driver.replica(T0).high_watermark == 0
    driver.release()
    driver.tick()

    assert driver.replica(T0).isr == broker_ids(1)
    assert driver.replica(T0).high_watermark == 1


def test_an_expansion_in_flight_holds_commits_back(driver: Driver) -> None:
    leading(driver, isr=(1,))
    driver.plan_write(PATH, Fate.HOLD)
    replicate(driver, 2)
    token = driver.ask(produce("a"))

    assert not driver.is_answered(token)
    assert driver.replica(T0).maximal_isr == broker_ids(1, 2)
    replicate(driver, 2)

    assert driver.reply(token, ProduceResponse).error_code is ErrorCode.NONE


@pytest.mark.parametrize("fate", [Fate.LOSE_REPLY, Fate.LOSE_REQUEST])
def test_a_lost_reply_is_cleared_up_by_reading_back(driver: Driver, fate: Fate) -> None:
    leading(driver)
    driver.plan_write(PATH, fate)

    driver.tick(LAG_MS)

    assert driver.state(T0) == state(1, 1, (1,))
    assert (driver.replica(T0).isr, driver.replica(T0).znode_version) == (broker_ids(1), 1)
    assert len(isr_writes(driver)) == (1 if fate is Fate.LOSE_REPLY else 2)
    assert not driver.replica(T0).is_fenced


def test_a_read_that_fails_too_leaves_the_change_undecided_until_later(driver: Driver) -> None:
    leading(driver)
    driver.plan_write(PATH, Fate.LOSE_REPLY)
    driver.plan_read(PATH, Fate.LOSE_REPLY)
    driver.tick(LAG_MS)
    assert driver.replica(T0).wanted_isr == broker_ids(1)

    driver.tick(99)
    assert driver.replica(T0).wanted_isr == broker_ids(1)
    driver.tick(1)

    assert driver.replica(T0).wanted_isr is None
    assert driver.replica(T0).isr == broker_ids(1)


def test_another_version_by_another_leader_fences(driver: Driver) -> None:
    leading(driver)
    driver.put_state(T0, state(2, 2, (2, 3)))
    token = driver.ask(produce("a"))

    driver.tick(LAG_MS)

    replica = driver.replica(T0)
    assert replica.is_fenced
    assert replica.wanted_isr is None
    assert replica.isr == broker_ids(1, 2, 3)
    assert driver.state(T0) == state(2, 2, (2, 3))
    (fenced,) = driver.took(Action.FENCE_LEADER)
    assert fenced.znode_version == 0
    assert driver.is_answered(token)


def test_a_fenced_leader_takes_no_produce_and_commits_nothing(driver: Driver) -> None:
    leading(driver)
    driver.ask(produce("a"))
    driver.put_state(T0, state(2, 2, (2, 3)))
    driver.tick(LAG_MS)

    refused = driver.deliver(produce("b"), ProduceResponse)
    replicate(driver, 2, 3)
    driver.tick(LAG_MS)

    assert refused.error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert driver.replica(T0).high_watermark == 0
    assert len(isr_writes(driver)) == 1


def test_a_fenced_leader_obeys_the_next_command(driver: Driver) -> None:
    leading(driver)
    driver.put_state(T0, state(1, 2, (1,)))
    driver.tick(LAG_MS)
    assert driver.replica(T0).is_fenced

    obey(driver, command(1, 2, isr=(1,), version=1))

    assert not driver.replica(T0).is_fenced
    assert driver.deliver(produce("a"), ProduceResponse).error_code is ErrorCode.NONE


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"leader": 1}'])
def test_an_unreadable_state_fences(driver: Driver, data: bytes) -> None:
    leading(driver)
    driver.put_state(T0, data)

    driver.tick(LAG_MS)

    assert driver.replica(T0).is_fenced


def test_an_answer_that_comes_after_stepping_down_changes_nothing(driver: Driver) -> None:
    leading(driver)
    driver.plan_write(PATH, Fate.HOLD)
    driver.tick(LAG_MS)
    obey(driver, command(2, 2, version=1))
    before = driver.replica(T0)

    driver.release()

    assert driver.replica(T0) is before
    assert driver.took(Action.ADOPT_ISR) == []


def test_the_answer_of_an_earlier_epoch_is_not_taken_for_this_one(driver: Driver) -> None:
    leading(driver)
    driver.plan_write(PATH, Fate.HOLD)
    driver.tick(LAG_MS)
    driver.put_state(T0, state(1, 2, (1, 2)))
    obey(driver, command(1, 2, isr=(1, 2), version=1))

    driver.release()

    assert driver.replica(T0).isr == broker_ids(1, 2)
    assert not driver.replica(T0).is_fenced


def test_a_lost_write_may_still_come_and_only_one_of_the_two_succeeds(driver: Driver) -> None:
    leading(driver)
    driver.plan_write(PATH, Fate.LOSE_REQUEST)
    driver.tick(LAG_MS)
    lost, again = isr_writes(driver)

    assert lost == again
    late = driver.zookeeper.write(driver.session_id, (lost,))

    assert "BAD_VERSION" in str(late)
    assert driver.replica(T0).znode_version == 1


def test_an_earlier_epochs_answer_does_not_settle_this_epochs_change(driver: Driver) -> None:
    leading(driver)
    for _ in range(2):
        driver.plan_write(PATH, Fate.HOLD)
    driver.tick(LAG_MS)
    driver.put_state(T0, state(1, 2, (1, 2)))
    obey(driver, command(1, 2, isr=(1, 2), version=1))
    driver.tick(LAG_MS)
    assert len(isr_writes(driver)) == 2

    driver.release()

    assert driver.replica(T0).isr == broker_ids(1)
    assert len(isr_writes(driver)) == 2
