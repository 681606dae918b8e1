"""How a broker joins, learns the controller, and stands for election."""

from collections.abc import Callable

import pytest

from fencepost.impl.core.config import Config
from fencepost.impl.core.levels import LEVELS
from fencepost.impl.core.rules.tables import Role
from fencepost.impl.core.types.events import SessionReconnected, SessionSuspended
from fencepost.impl.core.types.messages import LeaderAndIsrResponse
from fencepost.impl.core.types.zookeeper import (
    Create,
    Delete,
    Rejected,
    SetData,
    WriteOp,
    Written,
    ZkError,
)
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    NO_BROKER,
    Action,
    ErrorCode,
    ZnodeVersion,
)
from fencepost.spec.znodes import CONTROLLER, CONTROLLER_EPOCH, TOPICS, broker_path
from tests.impl.core.build import ME, T0, command, order, state
from tests.impl.core.driver import Driver, Fate
from tests.impl.core.roles import elect_other, obey

Drive = Callable[[Config], Driver]
REGISTRATION = broker_path(1)


def elections(driver: Driver) -> list[tuple[WriteOp, ...]]:
    """Every attempt to become controller."""
    return [
        effect.ops
        for effect in driver.writes
        if any(isinstance(op, Create) and op.path == CONTROLLER for op in effect.ops)
    ]


def epoch(driver: Driver) -> bytes:
    return driver.zookeeper.peek(CONTROLLER_EPOCH).data


def is_controller(driver: Driver) -> bool:
    return driver.node.controller.is_active


def is_registered(driver: Driver) -> bool:
    return driver.node.registration.is_registered


# Registration


def test_a_broker_registers_under_its_session_before_it_reads(driver: Driver) -> None:
    driver.start()

    stat = driver.zookeeper.peek(REGISTRATION).stat
    assert stat is not None
    assert stat.ephemeral_owner == driver.session_id
    (registered,) = driver.took(Action.REGISTER_BROKER)
    assert (registered.session_id, registered.zxid) == (driver.session_id, stat.czxid)
    assert driver.node.broker.is_ready


def test_an_older_registration_is_waited_out(driver: Driver) -> None:
    driver.register(1)
    driver.start()
    driver.tick(10_000)
    assert not is_registered(driver)
    assert driver.writes == []

    driver.unregister(1)

    assert is_registered(driver)
    assert driver.node.broker.is_ready


@pytest.mark.parametrize("fate", [Fate.LOSE_REPLY, Fate.LOSE_REQUEST])
def test_a_registration_whose_reply_was_lost_is_found_or_made(driver: Driver, fate: Fate) -> None:
    driver.plan_write(REGISTRATION, fate)
    driver.start()
    assert not is_registered(driver)

    driver.tick(100)

    stat = driver.zookeeper.peek(REGISTRATION).stat
    assert stat is not None
    assert [taken.zxid for taken in driver.took(Action.REGISTER_BROKER)] == [stat.czxid]
    assert driver.node.broker.is_ready


@pytest.mark.parametrize("path", [REGISTRATION, TOPICS, CONTROLLER])
def test_a_start_that_the_connection_interrupts_is_tried_again(driver: Driver, path: str) -> None:
    if path == TOPICS:
        driver.plan_listing(path, Fate.LOSE_REPLY)
    else:
        driver.plan_read(path, Fate.LOSE_REPLY)
    driver.start()
    assert driver.took(Action.ELECT_CONTROLLER) == []

    driver.tick(100)

    assert len({taken.zxid for taken in driver.took(Action.REGISTER_BROKER)}) == 1
    assert driver.node.broker.is_ready
    assert is_controller(driver)


def test_a_new_session_registers_anew(driver: Driver) -> None:
    driver.start()
    driver.lose_session()
    assert not is_controller(driver)
    driver.start()

    first, second = driver.took(Action.REGISTER_BROKER)

    assert first.session_id != second.session_id
    assert is_controller(driver)
    assert epoch(driver) == b"2"


def test_a_connection_that_comes_back_changes_nothing(driver: Driver) -> None:
    driver.start()

    assert driver.step(SessionSuspended()) == []
    assert driver.step(SessionReconnected(session_id=driver.session_id)) == []
    assert is_controller(driver)


# Its own partitions


def test_a_starting_broker_leads_nothing_on_zookeepers_word(driver: Driver) -> None:
    driver.create_topic("t", (1, 2, 3), (2, 3))
    driver.put_state(T0, state(1, 4, (1, 2)))
    elect_other(driver, 3)

    driver.start()

    replica = driver.replica(T0)
    assert replica.role is Role.WAITING
    assert (replica.leader_epoch, replica.znode_version) == (4, 0)
    assert driver.node.broker.replicas.partitions() == [T0]
    assert obey(driver, command(2, 3, version=9)) == [ErrorCode.STALE_LEADER_EPOCH]
    assert obey(driver, command(2, 4, version=0)) == [ErrorCode.NONE]


def test_malformed_znodes_of_its_topics_are_skipped_and_reported(driver: Driver) -> None:
    driver.create_topic("bad")
    driver.write(
        SetData(path=f"{TOPICS}/bad", data=b'{"partitions":7}', expected_version=ANY_VERSION)
    )
    driver.create_topic("t", (1, 2))
    driver.put_state(T0, b"not json")
    elect_other(driver, 3)

    driver.start()

    assert driver.node.broker.is_ready
    assert driver.malformed == [f"{TOPICS}/bad", f"{TOPICS}/t/0/leaderAndISR"]


# The election


def test_the_first_controller_has_epoch_1_and_writes_it_in_one_multi(driver: Driver) -> None:
    driver.start()

    (election,) = elections(driver)
    holder, _, _, term = election
    assert [type(op) for op in election] == [Create, SetData, Create, Create]
    assert [op.path for op in election] == [
        CONTROLLER, CONTROLLER, CONTROLLER_EPOCH, f"{CONTROLLER_EPOCH}/1",
    ]  # fmt: skip
    assert isinstance(holder, Create)
    assert isinstance(term, Create)
    assert holder.ephemeral
    assert term.ephemeral
    assert epoch(driver) == b"1"
    (elected,) = driver.took(Action.ELECT_CONTROLLER)
    assert (elected.controller_id, elected.controller_epoch) == (1, 1)


def test_each_election_raises_the_epoch_under_its_version(driver: Driver) -> None:
    elect_other(driver, 3)
    driver.start()
    assert not is_controller(driver)

    driver.unregister(3)

    (election,) = elections(driver)
    first = ZnodeVersion(0)
    assert election[2] == SetData(path=CONTROLLER_EPOCH, data=b"2", expected_version=first)
    assert is_controller(driver)
    assert driver.node.controller.controller_epoch == 2


def test_at_level_0_the_election_is_a_single_create(drive: Drive) -> None:
    driver = drive(Config(broker_id=ME, rules=LEVELS[0]))
    driver.start()

    (election,) = elections(driver)

    assert [op.path for op in election] == [CONTROLLER]
    assert driver.zookeeper.peek(CONTROLLER_EPOCH).stat is None
    (elected,) = driver.took(Action.ELECT_CONTROLLER)
    assert elected.controller_epoch == 0


def test_who_finds_a_holder_does_not_stand(driver: Driver) -> None:
    elect_other(driver, 3)
    driver.start()
    driver.tick(10_000)

    assert elections(driver) == []
    (learnt,) = driver.took(Action.LEARN_CONTROLLER)
    assert (learnt.controller_id, learnt.controller_epoch) == (3, 1)


def test_who_loses_the_race_learns_the_winner(driver: Driver) -> None:
    driver.register(3)
    driver.plan_write(CONTROLLER, None, lambda: driver.make_controller(3))

    driver.start()

    assert not is_controller(driver)
    assert driver.node.controller_election.active_controller_id == 3
    assert driver.node.broker.controller_epoch == 1
    assert epoch(driver) == b"1"


def test_an_epoch_raised_meanwhile_makes_the_election_fail(driver: Driver) -> None:
    elect_other(driver, 3)
    driver.start()

    def raise_epoch() -> None:
        driver.write(SetData(path=CONTROLLER_EPOCH, data=b"9", expected_version=ANY_VERSION))

    driver.plan_write(CONTROLLER, None, raise_epoch)

    driver.unregister(3)
    driver.tick(100)

    assert driver.node.controller.controller_epoch == 10
    assert epoch(driver) == b"10"


@pytest.mark.parametrize("data", [b"0", b"1", b"many"])
def test_an_epoch_that_was_set_back_does_not_come_again(driver: Driver, data: bytes) -> None:
    elect_other(driver, 3)
    elect_other(driver, 3)

    driver.write(SetData(path=CONTROLLER_EPOCH, data=data, expected_version=ANY_VERSION))
    driver.start()
    driver.unregister(3)
    driver.tick(100)

    assert driver.node.controller.controller_epoch == 3
    assert epoch(driver) == b"3"


def test_an_election_whose_reply_was_lost_is_found_by_reading_back(driver: Driver) -> None:
    driver.plan_write(CONTROLLER, Fate.LOSE_REPLY)

    driver.start()
    driver.tick(100)

    assert len(elections(driver)) == 1
    assert len(driver.took(Action.ELECT_CONTROLLER)) == 1
    assert is_controller(driver)
    assert driver.node.controller.controller_epoch == 1
    assert epoch(driver) == b"1"


def test_an_election_that_never_arrived_is_held_again(driver: Driver) -> None:
    driver.plan_write(CONTROLLER, Fate.LOSE_REQUEST)
    driver.start()

    driver.tick(100)

    assert len(elections(driver)) == 2
    assert driver.node.controller.controller_epoch == 1


@pytest.mark.parametrize("data", [b"", b"{}", b'{"brokerid":"x","timestamp":"0"}'])
def test_an_unreadable_holder_is_reported_and_stood_against(driver: Driver, data: bytes) -> None:
    driver.write(Create(path=CONTROLLER, data=data, ephemeral=True))
    driver.start()
    assert driver.malformed == [CONTROLLER]
    assert driver.node.controller_election.active_controller_id == NO_BROKER
    assert len(elections(driver)) == 1

    driver.write(Delete(path=CONTROLLER, expected_version=ANY_VERSION))

    assert is_controller(driver)


OTHERS = b'{"version":1,"brokerid":7,"timestamp":"0"}'


@pytest.mark.parametrize("data", [b"", OTHERS])
def test_a_holder_of_no_session_is_replaced_by_the_election(driver: Driver, data: bytes) -> None:
    driver.write(Create(path=CONTROLLER, data=data))

    driver.start()

    assert is_controller(driver)
    (election,) = elections(driver)
    assert election[0] == Delete(path=CONTROLLER, expected_version=ZnodeVersion(0))


def test_a_holder_that_was_written_over_is_taken_away_and_won_again(driver: Driver) -> None:
    driver.start()

    driver.write(SetData(path=CONTROLLER, data=OTHERS, expected_version=ANY_VERSION))
    driver.tick(100)

    assert is_controller(driver)
    assert len(driver.took(Action.RESIGN_CONTROLLER)) == 1
    assert driver.node.controller.controller_epoch == 2


def test_a_term_goes_with_its_session_and_a_holder_made_by_hand_does_not_stand_for_it(
    driver: Driver,
) -> None:
    driver.start()
    generation = driver.node.controller.generation
    written_by_hand = (
        Create(path=CONTROLLER, data=OTHERS),
        SetData(path=CONTROLLER, data=OTHERS, expected_version=ANY_VERSION),
    )
    fence, zookeeper = generation.fence(), driver.zookeeper
    assert isinstance(zookeeper.write(driver.outsider, fence), Written)

    zookeeper.end_session(driver.session_id)
    for op in written_by_hand:
        driver.write(op)

    refused = zookeeper.write(driver.outsider, fence)
    assert isinstance(refused, Rejected)
    assert refused.errors == (ZkError.ROLLED_BACK, ZkError.ROLLED_BACK, ZkError.NO_NODE)


def test_an_unreadable_epoch_is_reported_and_replaced(driver: Driver) -> None:
    driver.write(Create(path=CONTROLLER_EPOCH, data=b"many"))

    driver.start()

    assert set(driver.malformed) == {CONTROLLER_EPOCH}
    assert is_controller(driver)
    assert epoch(driver) == b"1"


def test_a_deleted_controller_znode_is_stood_for_again_under_the_next_epoch(driver: Driver) -> None:
    driver.start()

    driver.write(Delete(path=CONTROLLER, expected_version=ANY_VERSION))

    taken = [a.action for a in driver.actions if "Controller" in a.action]
    assert taken == [
        Action.ELECT_CONTROLLER,
        Action.LEARN_CONTROLLER,
        Action.RESIGN_CONTROLLER,
        Action.LEARN_CONTROLLER,
        Action.ELECT_CONTROLLER,
        Action.LEARN_CONTROLLER,
    ]
    assert driver.node.controller.controller_epoch == 2


def test_a_command_with_a_larger_epoch_makes_a_controller_resign(driver: Driver) -> None:
    driver.start()
    assert is_controller(driver)

    driver.deliver(order(command(2, 0), epoch=2), LeaderAndIsrResponse)

    assert not is_controller(driver)
    assert len(driver.took(Action.RESIGN_CONTROLLER)) == 1


def test_our_own_command_makes_no_controller_resign(driver: Driver) -> None:
    driver.start()

    driver.deliver(order(command(1, 0), controller=1, epoch=1), LeaderAndIsrResponse)

    assert is_controller(driver)


def test_a_session_that_ends_ends_the_generation(driver: Driver) -> None:
    driver.start()
    generation = driver.node.controller.generation

    driver.lose_session()

    assert not is_controller(driver)
    assert generation.is_over()
    assert not is_registered(driver)


def test_an_answer_for_an_earlier_session_registers_nobody(driver: Driver) -> None:
    driver.plan_read(REGISTRATION, Fate.HOLD)
    driver.start()
    driver.lose_session()
    elect_other(driver, 3)
    driver.start()
    begun = len(driver.took(Action.REGISTER_BROKER))

    driver.release()

    assert len(driver.took(Action.REGISTER_BROKER)) == begun == 1
