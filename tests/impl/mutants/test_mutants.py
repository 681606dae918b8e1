"""Mutants: each breaks its rule, and none can be active by accident."""

import re
from collections.abc import Callable
from dataclasses import replace as replace_config

import pytest
from msgspec.structs import replace

from fencepost.impl.__main__ import main
from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.controller_channel import INIT_WAIT_MS
from fencepost.impl.core.levels import LEVELS
from fencepost.impl.core.rules.producers import batch_records
from fencepost.impl.core.types.broker_reports import LogsFailedRequest
from fencepost.impl.core.types.events import LogFailed
from fencepost.impl.core.types.messages import (
    FetchRequest,
    FetchResponse,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    PartitionStop,
    ProduceResponse,
)
from fencepost.impl.core.types.zookeeper import Delete, SetData
from fencepost.impl.mutants.mutants import MUTANTS, mutant_name, rules_of, version_rules
from fencepost.impl.shell.options import EXIT_USAGE, node_options, parse
from fencepost.impl.sim.stepped.schedule import SCHEDULES
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    NEWEST_LEVEL,
    Action,
    BrokerId,
    BrokerVersion,
    ControllerEpoch,
    Ending,
    ErrorCode,
    Invariant,
    LeaderEpoch,
    Liveness,
    Offset,
)
from fencepost.spec.znodes import BROKER_IDS, CONTROLLER, leader_and_isr_path
from tests.impl.core.broker.test_fetcher import epoch_ends
from tests.impl.core.broker.test_produce import (
    duplicates_after_a_leader_change,
    produce as numbered,
)
from tests.impl.core.build import ME, T0, T1, command, order, records, state
from tests.impl.core.driver import Driver, Fate
from tests.impl.core.moving import governed, join_isr, reassign, shrink, stops, topic
from tests.impl.core.roles import fetched, following, last_epoch_request, leading, obey, produce
from tests.impl.core.test_node import live_through
from tests.impl.mutants import configuration, controllers, mutation_quota, upgrades

NODE = ["node", "--broker-id", "1", "--zookeeper", "127.0.0.1:1/x", "--data", "d"]
NODE += ["--trace", "t", "--run-id", "r"]
REQUIREMENT = re.compile(r"[A-Z]+-\d{3}")
NAMES = [*MUTANTS]


# The list


def test_the_kill_table_numbers_every_mutant_once() -> None:
    numbers = [one.number for one in MUTANTS.values()]
    assert len({*numbers}) == len(numbers)
    assert numbers == sorted(numbers)
    assert all(name == one.name for name, one in MUTANTS.items())


def test_every_record_names_a_rule_a_requirement_and_checks() -> None:
    for record in MUTANTS.values():
        assert record.rule.endswith(".")
        assert REQUIREMENT.fullmatch(record.requirement)
        assert record.caught_by or record.shows
        assert record.caught_by <= {*Invariant, *Liveness, *Ending}


# Never by accident


def test_no_config_has_a_wrong_rule_unless_a_mutant_is_named() -> None:
    assert Config(broker_id=ME).rules is LEVELS[NEWEST_LEVEL]
    assert node_options(parse(NODE)).config.rules is LEVELS[NEWEST_LEVEL]
    assert node_options(parse(NODE)).mutant is None


def test_every_mutant_changes_a_rule_of_the_newest_level() -> None:
    newest = len(LEVELS) - 1

    for name, mutant in MUTANTS.items():
        speaks = newest if mutant.upgrade_from is None else mutant.upgrade_from
        version = BrokerVersion(newest, speaks)
        assert version_rules(version, name) != version_rules(version), name


@pytest.mark.parametrize("value", [NAMES[0], "1", "true"])
def test_the_environment_changes_no_config_and_no_node(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    quiet = Driver(Config(broker_id=ME, inter_broker_protocol=NEWEST_LEVEL))
    live_through(quiet)
    for name in ("MUTANT", "FENCEPOST_MUTANT", "FENCEPOST_MUTANTS", "IMPL_MUTANT", "mutant"):
        monkeypatch.setenv(name, value)

    loud = Driver(node_options(parse(NODE)).config)
    live_through(loud)

    assert loud.config == quiet.config
    assert loud.effects == quiet.effects


@pytest.mark.parametrize("flag", ["--mutant", "--mut", "--mutants"])
def test_a_broker_process_that_takes_no_faults_takes_no_mutant(
    capsys: pytest.CaptureFixture[str], flag: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*NODE, flag, NAMES[0]])

    assert ended.value.code == EXIT_USAGE
    assert "--mutant" in capsys.readouterr().err


def test_a_broker_process_that_takes_faults_takes_a_mutant() -> None:
    options = node_options(parse([*NODE, "--fault-control", "--mutant", NAMES[0]]))

    assert options.mutant == NAMES[0]
    assert options.config.rules != LEVELS[NEWEST_LEVEL]


def test_a_mutant_that_there_is_not_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*NODE, "--fault-control", "--mutant", "no_such_rule"])

    assert ended.value.code == EXIT_USAGE
    assert "there is no mutant 'no_such_rule'" in capsys.readouterr().err


def test_the_help_of_the_broker_process_says_that_a_mutant_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["node", "--help"])

    told = " ".join(capsys.readouterr().out.split())
    assert ended.value.code == 0
    assert "run with this wrong rule; stderr and the trace report it" in told


# Each rule, with and without its mutant


def config(mutant: str | None) -> Config:
    if mutant is None:
        return Config(broker_id=ME)
    return Config(broker_id=ME, rules=rules_of(2, mutant_name(mutant)))


def led(mutant: str | None, isr: tuple[int, ...] = (1, 2, 3)) -> Driver:
    return leading(Driver(config(mutant)), isr=isr)


def expected_version(mutant: str | None) -> int:
    driver = led(mutant)
    driver.tick(2001)
    ops = (op for effect in driver.writes for op in effect.ops)
    (write,) = [op for op in ops if op.path == leader_and_isr_path(T0)]
    assert isinstance(write, SetData)
    return write.expected_version


def steps_down(mutant: str | None) -> bool:
    driver = led(mutant)
    driver.put_state(T0, state(2, 2, (2, 3)))
    driver.tick(2001)
    refused = driver.deliver(produce("a", acks=1), ProduceResponse).error_code
    return refused is ErrorCode.NOT_LEADER_OR_FOLLOWER


def waits_for_followers(mutant: str | None) -> bool:
    driver = led(mutant)
    return not driver.is_answered(driver.ask(produce("a")))


def refuses_older_controllers(mutant: str | None) -> bool:
    driver = led(mutant)
    obey(driver, command(1, 2), epoch=5)
    response = driver.deliver(order(command(2, 3), epoch=4), LeaderAndIsrResponse)
    return response.error_code is ErrorCode.STALE_CONTROLLER_EPOCH


def high_watermark_alone(mutant: str | None) -> int:
    driver = led(mutant)
    driver.ask(produce("a", acks=1))
    return driver.replica(T0).high_watermark


def leader_after_a_move(mutant: str | None) -> int:
    driver = governed(Driver(config(mutant)), (2, 3))
    reassign(driver, 4)
    join_isr(driver, T0, 2, 3, 4)
    return driver.took(Action.ADVANCE_REASSIGNMENT)[-1].leader or 0


def assigned_after_a_move(mutant: str | None) -> int:
    driver = led(mutant)
    moved = replace(command(1, 2), assigned_replicas=(ME, BrokerId(2), BrokerId(3), BrokerId(4)))
    obey(driver, moved)
    return len(driver.replica(T0).assigned_replicas)


def named_when_stopped(mutant: str | None) -> int:
    driver = governed(Driver(config(mutant)), (2, 3), (3, 4))
    shrink(driver, 1)
    assert stops(driver, 3)
    return len(topic(driver).partitions)


def epoch_after_election(mutant: str | None) -> int:
    driver = Driver(config(mutant))
    driver.register(2)
    driver.start()
    driver.create_topic("t", (2, 1))
    driver.unregister(2)
    assert driver.took(Action.ELECT_LEADER)
    return driver.state(T0).leader_epoch


def epoch_after_a_second_command(mutant: str | None) -> int:
    driver = led(mutant)
    obey(driver, command(1, 2))
    return driver.replica(T0).leader_epoch


def leader_after_a_member_returns(mutant: str | None) -> int:
    driver = Driver(config(mutant))
    driver.start()
    driver.create_topic("t", (2, 1))
    driver.put_state(T0, state(-1, 1, (2,)))
    driver.register(2)
    return driver.state(T0).leader


def acts_after_a_lost_reply(mutant: str | None) -> bool:
    driver = Driver(config(mutant))
    driver.plan_write(CONTROLLER, Fate.LOSE_REPLY)
    driver.start()
    driver.tick(1000)
    return driver.node.controller.is_active


def commands_after_a_lost_reply(mutant: str | None) -> int:
    driver = Driver(config(mutant))
    driver.register(2)
    driver.start()
    driver.plan_write(leader_and_isr_path(T0), Fate.LOSE_REPLY)
    driver.create_topic("t", (2, 1))
    return len(driver.commands(2))


def live_after_a_retry(mutant: str | None) -> int:
    """Broker 3 registers while the controller reads what became of its decision."""
    driver = Driver(config(mutant))
    path = leader_and_isr_path(T0)
    driver.register(2)
    driver.start()
    driver.create_topic("t", (2, 1))
    driver.plan_write(
        path, Fate.LOSE_REPLY, lambda: driver.plan_read(path, None, lambda: driver.register(3))
    )
    driver.unregister(2)
    return len(driver.node.controller.context.live)


def committed_alone(mutant: str | None) -> int:
    driver = led(mutant, isr=(1,))
    driver.ask(produce("a"))
    driver.tick(500)
    return driver.replica(T0).high_watermark


def asked_after_an_unknown_epoch(mutant: str | None) -> int:
    """The log has records of epochs 0, 3 and 5; the leader's epoch 4 ends inside the last."""
    driver = following(Driver(config(mutant)), epoch=6)
    fetched(driver, records(0, 0, 3, 5))
    obey(driver, command(3, 7, version=2))
    epoch_ends(driver, 4, 4)
    return last_epoch_request(driver).leader_epoch


def records_after_a_retry(mutant: str | None) -> int:
    return duplicates_after_a_leader_change(Driver(config(mutant)))


def epoch_after_a_bounce(mutant: str | None) -> int:
    """Broker 2 is back before the controller looks."""
    driver = Driver(config(mutant))
    driver.register(2)
    driver.register(3)
    driver.start()
    driver.create_topic("t", (2, 3))
    driver.plan_listing(BROKER_IDS, Fate.HOLD)
    driver.unregister(2)
    driver.register(2)
    driver.release()
    return driver.state(T0).leader_epoch


def epoch_after_a_deletion(mutant: str | None) -> int:
    """Somebody deletes `/controller`; the session of its owner lives."""
    driver = Driver(config(mutant))
    driver.start()
    driver.write(Delete(path=CONTROLLER, expected_version=ANY_VERSION))
    return driver.node.controller.controller_epoch


def named_by_the_first_command(mutant: str | None) -> int:
    """Of two partitions of broker 2, one waits for another leader."""
    driver = Driver(config(mutant))
    driver.register(2)
    driver.create_topic("t", (2, 1), (3, 2))
    driver.put_state(T0, state(2, 0, (1, 2)))
    driver.put_state(T1, state(3, 0, (2, 3)))
    driver.start()
    driver.tick(INIT_WAIT_MS)
    first = driver.commands(2)[0].request
    assert isinstance(first, LeaderAndIsrRequest)
    return len(first.partitions) + len(first.kept)


def serves_above_the_high_watermark(mutant: str | None) -> bool:
    driver = led(mutant)
    driver.ask(produce("a", acks=1))
    request = FetchRequest(topic=T0.topic, partition=T0.partition, fetch_offset=Offset(1))
    return driver.deliver(request, FetchResponse).error_code is ErrorCode.NONE


def appends_under_a_small_isr(mutant: str | None) -> bool:
    driver = leading(Driver(replace_config(config(mutant), min_insync_replicas=2)), isr=(1,))
    driver.ask(produce("a"))
    return driver.replica(T0).log_end_offset > 0


def refused_after_a_restart(mutant: str | None) -> bool:
    driver = led(mutant, isr=(1,))
    driver.ask(numbered(0))
    driver.lose_session()
    driver.start(recovered=True)
    driver.put_state(T0, state(1, 2, (1,)))
    obey(driver, command(1, 2, isr=(1,), version=1))
    refused = driver.deliver(numbered(1), ProduceResponse).error_code
    return refused is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def appended_of_half_a_batch(mutant: str | None) -> int:
    driver = following(Driver(config(mutant)))
    fetched(driver, batch_records(numbered(0, 2), LeaderEpoch(1))[:1])
    return driver.replica(T0).log_end_offset


def appended_with_a_gap(mutant: str | None) -> int:
    driver = led(mutant, isr=(1,))
    driver.ask(numbered(0))
    driver.ask(numbered(2))
    return driver.replica(T0).log_end_offset


def tells_of_a_failed_log(mutant: str | None) -> bool:
    driver = led(mutant)
    driver.step(LogFailed(topic_partition=T0))
    driver.tick()
    return any(isinstance(send.request, LogsFailedRequest) for send in driver.sent)


def follows_when_left_out(mutant: str | None) -> bool:
    driver = led(mutant)
    driver.node.broker.fetcher.begin_ending()
    driver.deliver(order(command(2, 9, isr=(2, 3))), LeaderAndIsrResponse)
    return any(isinstance(send.request, FetchRequest) for send in driver.sent)


def refuses_a_stop_of_the_last_epoch(mutant: str | None) -> bool:
    replica = led(mutant).replica(T0)
    stop = PartitionStop(
        topic=T0.topic,
        partition=T0.partition,
        partition_incarnation=replica.partition_incarnation,
        leader_epoch=LeaderEpoch(replica.leader_epoch - 1),
    )
    return config(mutant).rules.is_newer_than_stop(replica, stop)


def takes_metadata_again(mutant: str | None) -> bool:
    version = ControllerEpoch(1), 4
    return config(mutant).rules.is_newer_metadata(version, version)


def next_try_of_a_failed_fetch(mutant: str | None) -> int:
    return config(mutant).retry_at_ms(100)


def leads_without_log(mutant: str | None) -> bool:
    driver = led(mutant)
    driver.step(LogFailed(topic_partition=T0))
    return driver.deliver(produce("a", acks=1), ProduceResponse).error_code is ErrorCode.NONE


@pytest.mark.parametrize(
    ("mutant", "observe", "right", "wrong"),
    [
        ("no_znode_version_check", expected_version, 0, -1),
        ("no_step_down", steps_down, True, False),
        ("acknowledge_before_replication", waits_for_followers, True, False),
        ("inclusive_high_watermark", waits_for_followers, True, False),
        ("accept_older_controller_epoch", refuses_older_controllers, True, False),
        ("high_watermark_from_leader_alone", high_watermark_alone, 0, 1),
        ("leader_epoch_not_raised", epoch_after_election, 1, 0),
        ("leader_ignores_command", epoch_after_a_second_command, 2, 1),
        ("no_election_on_arrival", leader_after_a_member_returns, 2, -1),
        ("forget_unsettled_decision", commands_after_a_lost_reply, 1, 0),
        ("retry_keeps_live_brokers", live_after_a_retry, 2, 1),
        ("high_watermark_on_fetch_only", committed_alone, 1, 0),
        ("end_offset_alone", asked_after_an_unknown_epoch, 3, 5),
        ("leader_stays_outside", leader_after_a_move, 4, 2),
        ("leader_ignores_new_replicas", assigned_after_a_move, 4, 3),
        ("stop_before_unassign", named_when_stopped, 1, 2),
        ("forget_own_controller_znode", acts_after_a_lost_reply, True, False),
        ("forget_producers_on_leader_change", records_after_a_retry, 3, 4),
        ("init_names_what_changed", named_by_the_first_command, 2, 1),
        ("compare_broker_ids_only", epoch_after_a_bounce, 1, 0),
        ("resign_on_expiry_only", epoch_after_a_deletion, 2, 1),
        ("refuse_above_high_watermark", serves_above_the_high_watermark, True, False),
        ("go_on_without_log", leads_without_log, False, True),
        ("forget_producers_at_start", refused_after_a_restart, False, True),
        ("append_batch_in_part", appended_of_half_a_batch, 0, 1),
        ("skip_sequences", appended_with_a_gap, 1, 2),
        ("return_when_let_go", follows_when_left_out, False, True),
        ("tell_no_failed_log", tells_of_a_failed_log, True, False),
        ("obey_stop_of_last_epoch", refuses_a_stop_of_the_last_epoch, True, False),
        ("take_metadata_twice", takes_metadata_again, False, True),
        ("retry_at_once", next_try_of_a_failed_fetch, 200, 100),
        ("append_under_a_small_isr", appends_under_a_small_isr, False, True),
        *configuration.CASES,
        *controllers.CASES,
        *mutation_quota.CASES,
        *upgrades.CASES,
    ],
)
def test_a_mutant_breaks_its_rule_and_nothing_else_does(
    mutant: str, observe: Callable[[str | None], object], right: object, wrong: object
) -> None:
    assert observe(None) == right
    assert observe(mutant) == wrong


def test_every_mutant_is_shown_to_break_its_rule() -> None:
    """Here, or along its schedule in `tests/impl/sim/test_stepper.py`."""
    marks = test_a_mutant_breaks_its_rule_and_nothing_else_does.pytestmark  # type: ignore[attr-defined]
    cases = {case[0] for case in marks[0].args[1]}
    stepped = {mutant for mutant in MUTANTS if [*SCHEDULES.glob(f"{mutant}.*")]}

    assert cases | stepped == MUTANTS.keys()
