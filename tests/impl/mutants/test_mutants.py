"""Mutants: each breaks its rule, and none can be active by accident."""

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from fencepost.impl import core
from fencepost.impl.__main__ import main
from fencepost.impl.core.types.config import Config
from fencepost.impl.core.types.events import LogFailed
from fencepost.impl.core.types.messages import (
    FetchRequest,
    FetchResponse,
    LeaderAndIsrResponse,
    ProduceResponse,
)
from fencepost.impl.core.types.zookeeper import Delete, SetData
from fencepost.impl.mutants.mutants import Mutant
from fencepost.impl.mutants.records import MUTANTS
from fencepost.impl.shell.options import EXIT_USAGE, node_options, parse
from fencepost.impl.sim.stepped.schedule import SCHEDULES
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    Action,
    BrokerId,
    ErrorCode,
    Invariant,
    Liveness,
    Offset,
)
from fencepost.spec.znodes import BROKER_IDS, CONTROLLER, leader_and_isr_path
from tests.impl.core.broker.test_fetcher import epoch_ends
from tests.impl.core.broker.test_produce import duplicates_after_a_leader_change
from tests.impl.core.build import ME, T0, command, order, records, state
from tests.impl.core.driver import Driver, Fate
from tests.impl.core.moving import governed, join_isr, reassign, shrink, stops, topic
from tests.impl.core.roles import fetched, following, last_epoch_request, leading, obey, produce
from tests.impl.core.test_node import live_through

CORE = Path(core.__file__).parent
NODE = ["node", "--broker-id", "1", "--zookeeper", "127.0.0.1:1/x", "--data", "d"]
NODE += ["--trace", "t", "--run-id", "r"]
REQUIREMENT = re.compile(r"[A-Z]+-\d{3}")
NAMES = [mutant.value for mutant in Mutant]


# The list


def test_every_mutant_has_exactly_one_record() -> None:
    assert sorted(record.mutant for record in MUTANTS) == sorted(Mutant)


def test_every_record_names_a_rule_a_requirement_and_checks() -> None:
    for record in MUTANTS:
        assert record.rule.endswith(".")
        assert REQUIREMENT.fullmatch(record.requirement)
        assert record.caught_by or record.shows
        assert record.caught_by <= {*Invariant, *Liveness}


# Never by accident


def test_no_config_has_a_mutant_unless_it_is_named() -> None:
    assert Config(broker_id=ME).mutant is None
    assert node_options(parse(NODE)).config.mutant is None


@pytest.mark.parametrize("value", [*NAMES, "1", "true"])
def test_the_environment_changes_no_config_and_no_node(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    quiet = Driver(Config(broker_id=ME))
    live_through(quiet)
    for name in ("MUTANT", "FENCEPOST_MUTANT", "FENCEPOST_MUTANTS", "IMPL_MUTANT", "mutant"):
        monkeypatch.setenv(name, value)

    loud = Driver(node_options(parse(NODE)).config)
    live_through(loud)

    assert loud.config == quiet.config
    assert loud.effects == quiet.effects


@pytest.mark.parametrize("flag", ["--mutant", "--mut", "--mutants"])
@pytest.mark.parametrize("name", NAMES)
def test_a_broker_process_that_takes_no_faults_takes_no_mutant(
    capsys: pytest.CaptureFixture[str], flag: str, name: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*NODE, flag, name])

    assert ended.value.code == EXIT_USAGE
    assert "--mutant" in capsys.readouterr().err


@pytest.mark.parametrize("name", NAMES)
def test_a_broker_process_that_takes_faults_takes_a_mutant(name: str) -> None:
    assert node_options(parse([*NODE, "--fault-control", "--mutant", name])).config.mutant == name


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
    assert "a wrong rule, on purpose; stderr and the trace tell" in told


def strays(tree: ast.Module) -> list[int]:
    """Lines that say `mutant` in code elsewhere than in `<...>config.mutant is Mutant.X`."""
    allowed: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "fencepost.impl.mutants.mutants":
            allowed.update(map(id, node.names))
        if isinstance(node, ast.Compare) and is_comparison(node):
            allowed.update(map(id, ast.walk(node)))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            allowed.add(id(node.value))  # a docstring
    return [
        getattr(node, "lineno", 0)
        for node in ast.walk(tree)
        if id(node) not in allowed and says_mutant(node)
    ]


def is_comparison(node: ast.Compare) -> bool:
    left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
    is_identity = len(node.ops) == 1 and isinstance(node.ops[0], ast.Is)
    named = right.removeprefix("Mutant.") in Mutant.__members__
    return is_identity and named and re.fullmatch(r"(self\._?)?config\.mutant", left) is not None


def says_mutant(node: ast.AST) -> bool:
    spelled = [getattr(node, name, None) for name in ("id", "attr", "arg", "name", "value")]
    return any(isinstance(word, str) and "mutant" in word.lower() for word in spelled)


def test_the_core_says_mutant_only_where_it_compares() -> None:
    modules = [p for p in sorted(CORE.rglob("*.py")) if not p.name.startswith(("mutant", "config"))]
    found = {p.name: strays(ast.parse(p.read_text())) for p in modules}

    assert len(modules) > 15
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "line",
    [
        "mutant = Mutant.NO_STEP_DOWN",
        "Config(broker_id=1, mutant=m)",
        "if config.mutant: pass",
        "if self._config.mutant is not None: pass",
        "if self._config.mutant is other: pass",
        "getattr(self, name).mutant",
        "getattr(config, 'mutant')",
        "level = os.environ['FENCEPOST_MUTANT']",
    ],
)
def test_another_use_of_the_word_is_seen(line: str) -> None:
    assert 1 in strays(ast.parse(line))


def test_a_docstring_may_tell_of_mutants() -> None:
    assert strays(ast.parse('def f() -> None:\n    """A mutant\'s wrong rule."""')) == []


def test_the_config_declares_the_mutant_once_and_reads_nothing() -> None:
    tree = ast.parse((CORE / "types" / "config.py").read_text())
    fields = [n for n in ast.walk(tree) if isinstance(n, ast.AnnAssign) and says_mutant(n.target)]

    (field,) = fields
    assert isinstance(field.value, ast.Constant)
    assert field.value.value is None
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    assert {ast.unparse(call.func) for call in calls} == {"dataclass", "min"}


# Each rule, with and without its mutant


def led(mutant: Mutant | None, isr: tuple[int, ...] = (1, 2, 3)) -> Driver:
    return leading(Driver(Config(broker_id=ME, mutant=mutant)), isr=isr)


def expected_version(mutant: Mutant | None) -> int:
    driver = led(mutant)
    driver.tick(2001)
    ops = (op for effect in driver.writes for op in effect.ops)
    (write,) = [op for op in ops if op.path == leader_and_isr_path(T0)]
    assert isinstance(write, SetData)
    return write.expected_version


def steps_down(mutant: Mutant | None) -> bool:
    driver = led(mutant)
    driver.put_state(T0, state(2, 2, (2, 3)))
    driver.tick(2001)
    refused = driver.deliver(produce("a", acks=1), ProduceResponse).error_code
    return refused is ErrorCode.NOT_LEADER_OR_FOLLOWER


def waits_for_followers(mutant: Mutant | None) -> bool:
    driver = led(mutant)
    return not driver.is_answered(driver.ask(produce("a")))


def refuses_older_controllers(mutant: Mutant | None) -> bool:
    driver = led(mutant)
    obey(driver, command(1, 2), epoch=5)
    response = driver.deliver(order(command(2, 3), epoch=4), LeaderAndIsrResponse)
    return response.error_code is ErrorCode.STALE_CONTROLLER_EPOCH


def high_watermark_alone(mutant: Mutant | None) -> int:
    driver = led(mutant)
    driver.ask(produce("a", acks=1))
    return driver.replica(T0).high_watermark


def leader_after_a_move(mutant: Mutant | None) -> int:
    driver = governed(Driver(Config(broker_id=ME, mutant=mutant)), (2, 3))
    reassign(driver, 4)
    join_isr(driver, T0, 2, 3, 4)
    return driver.took(Action.ADVANCE_REASSIGNMENT)[-1].leader or 0


def assigned_after_a_move(mutant: Mutant | None) -> int:
    driver = led(mutant)
    moved = replace(command(1, 2), assigned_replicas=(ME, BrokerId(2), BrokerId(3), BrokerId(4)))
    obey(driver, moved)
    return len(driver.replica(T0).assigned_replicas)


def named_when_stopped(mutant: Mutant | None) -> int:
    driver = governed(Driver(Config(broker_id=ME, mutant=mutant)), (2, 3), (3, 4))
    shrink(driver, 1)
    assert stops(driver, 3)
    return len(topic(driver).partitions)


def epoch_after_election(mutant: Mutant | None) -> int:
    driver = Driver(Config(broker_id=ME, mutant=mutant))
    driver.register(2)
    driver.start()
    driver.create_topic("t", (2, 1))
    driver.unregister(2)
    assert driver.took(Action.ELECT_LEADER)
    return driver.state(T0).leader_epoch


def epoch_after_a_second_command(mutant: Mutant | None) -> int:
    driver = led(mutant)
    obey(driver, command(1, 2))
    return driver.replica(T0).leader_epoch


def leader_after_a_member_returns(mutant: Mutant | None) -> int:
    driver = Driver(Config(broker_id=ME, mutant=mutant))
    driver.start()
    driver.create_topic("t", (2, 1))
    driver.put_state(T0, state(-1, 1, (2,)))
    driver.register(2)
    return driver.state(T0).leader


def acts_after_a_lost_reply(mutant: Mutant | None) -> bool:
    driver = Driver(Config(broker_id=ME, mutant=mutant))
    driver.plan_write(CONTROLLER, Fate.LOSE_REPLY)
    driver.start()
    driver.tick(1000)
    return driver.node.controller.is_active


def commands_after_a_lost_reply(mutant: Mutant | None) -> int:
    driver = Driver(Config(broker_id=ME, mutant=mutant))
    driver.register(2)
    driver.start()
    driver.plan_write(leader_and_isr_path(T0), Fate.LOSE_REPLY)
    driver.create_topic("t", (2, 1))
    return len(driver.commands(2))


def live_after_a_retry(mutant: Mutant | None) -> int:
    """Broker 3 registers while the controller reads what became of its decision."""
    driver = Driver(Config(broker_id=ME, mutant=mutant))
    path = leader_and_isr_path(T0)
    driver.register(2)
    driver.start()
    driver.create_topic("t", (2, 1))
    driver.plan_write(
        path, Fate.LOSE_REPLY, lambda: driver.plan_read(path, None, lambda: driver.register(3))
    )
    driver.unregister(2)
    return len(driver.node.controller.context.live)


def committed_alone(mutant: Mutant | None) -> int:
    driver = led(mutant, isr=(1,))
    driver.ask(produce("a"))
    driver.tick(500)
    return driver.replica(T0).high_watermark


def asked_after_an_unknown_epoch(mutant: Mutant | None) -> int:
    """The log has records of epochs 0, 3 and 5; the leader's epoch 4 ends inside the last."""
    driver = following(Driver(Config(broker_id=ME, mutant=mutant)), epoch=6)
    fetched(driver, records(0, 0, 3, 5))
    obey(driver, command(3, 7, version=2))
    epoch_ends(driver, 4, 4)
    return last_epoch_request(driver).leader_epoch


def records_after_a_retry(mutant: Mutant | None) -> int:
    return duplicates_after_a_leader_change(Driver(Config(broker_id=ME, mutant=mutant)))


def epoch_after_a_bounce(mutant: Mutant | None) -> int:
    """Broker 2 is back before the controller looks."""
    driver = Driver(Config(broker_id=ME, mutant=mutant))
    driver.register(2)
    driver.register(3)
    driver.start()
    driver.create_topic("t", (2, 3))
    driver.plan_listing(BROKER_IDS, Fate.HOLD)
    driver.unregister(2)
    driver.register(2)
    driver.release()
    return driver.state(T0).leader_epoch


def epoch_after_a_deletion(mutant: Mutant | None) -> int:
    """Somebody deletes `/controller`; the session of its owner lives."""
    driver = Driver(Config(broker_id=ME, mutant=mutant))
    driver.start()
    driver.write(Delete(path=CONTROLLER, expected_version=ANY_VERSION))
    return driver.node.controller.controller_epoch


def serves_above_the_high_watermark(mutant: Mutant | None) -> bool:
    driver = led(mutant)
    driver.ask(produce("a", acks=1))
    request = FetchRequest(topic=T0.topic, partition=T0.partition, fetch_offset=Offset(1))
    return driver.deliver(request, FetchResponse).error_code is ErrorCode.NONE


def leads_without_log(mutant: Mutant | None) -> bool:
    driver = led(mutant)
    driver.step(LogFailed(topic_partition=T0))
    return driver.deliver(produce("a", acks=1), ProduceResponse).error_code is ErrorCode.NONE


@pytest.mark.parametrize(
    ("mutant", "observe", "right", "wrong"),
    [
        (Mutant.NO_ZNODE_VERSION_CHECK, expected_version, 0, -1),
        (Mutant.NO_STEP_DOWN, steps_down, True, False),
        (Mutant.ACKNOWLEDGE_BEFORE_REPLICATION, waits_for_followers, True, False),
        (Mutant.INCLUSIVE_HIGH_WATERMARK, waits_for_followers, True, False),
        (Mutant.ACCEPT_OLDER_CONTROLLER_EPOCH, refuses_older_controllers, True, False),
        (Mutant.HIGH_WATERMARK_FROM_LEADER_ALONE, high_watermark_alone, 0, 1),
        (Mutant.LEADER_EPOCH_NOT_RAISED, epoch_after_election, 1, 0),
        (Mutant.LEADER_IGNORES_COMMAND, epoch_after_a_second_command, 2, 1),
        (Mutant.NO_ELECTION_ON_ARRIVAL, leader_after_a_member_returns, 2, -1),
        (Mutant.FORGET_UNSETTLED_DECISION, commands_after_a_lost_reply, 1, 0),
        (Mutant.RETRY_KEEPS_LIVE_BROKERS, live_after_a_retry, 2, 1),
        (Mutant.HIGH_WATERMARK_ON_FETCH_ONLY, committed_alone, 1, 0),
        (Mutant.END_OFFSET_ALONE, asked_after_an_unknown_epoch, 3, 5),
        (Mutant.LEADER_STAYS_OUTSIDE, leader_after_a_move, 4, 2),
        (Mutant.LEADER_IGNORES_NEW_REPLICAS, assigned_after_a_move, 4, 3),
        (Mutant.STOP_BEFORE_UNASSIGN, named_when_stopped, 1, 2),
        (Mutant.FORGET_OWN_CONTROLLER_ZNODE, acts_after_a_lost_reply, True, False),
        (Mutant.FORGET_PRODUCERS_ON_LEADER_CHANGE, records_after_a_retry, 3, 4),
        (Mutant.COMPARE_BROKER_IDS_ONLY, epoch_after_a_bounce, 1, 0),
        (Mutant.RESIGN_ON_EXPIRY_ONLY, epoch_after_a_deletion, 2, 1),
        (Mutant.REFUSE_ABOVE_HIGH_WATERMARK, serves_above_the_high_watermark, True, False),
        (Mutant.GO_ON_WITHOUT_LOG, leads_without_log, False, True),
    ],
)
def test_a_mutant_breaks_its_rule_and_nothing_else_does(
    mutant: Mutant, observe: Callable[[Mutant | None], int], right: int, wrong: int
) -> None:
    assert observe(None) == right
    assert observe(mutant) == wrong


def test_every_mutant_is_shown_to_break_its_rule() -> None:
    """Here, or along its schedule in `tests/impl/sim/test_stepper.py`."""
    marks = test_a_mutant_breaks_its_rule_and_nothing_else_does.pytestmark  # type: ignore[attr-defined]
    cases = {case[0] for case in marks[0].args[1]}
    stepped = {mutant for mutant in Mutant if [*SCHEDULES.glob(f"{mutant}.*")]}

    assert cases | stepped == set(Mutant)
