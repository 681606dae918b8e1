"""Behaviours of the specs on the core: equal states after each step, the same property broken."""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from fencepost.conformance.checks.registry import judge
from fencepost.conformance.whitebox.simulate import MutantResult, hunt_mutants
from fencepost.impl.mutants.mutants import MUTANTS, mutant_name
from fencepost.impl.sim import adapter, counterexamples
from fencepost.impl.sim.stepped.replay import repaired, replay
from fencepost.impl.sim.stepped.schedule import (
    SCHEDULES,
    ScheduleError,
    SteppedSchedule,
    preference,
    read_schedule,
    write_schedule,
)
from fencepost.impl.sim.stepped.sources import SOURCES, make
from fencepost.impl.sim.stepped.steps import read_step
from fencepost.spec.tlc.models import load_models, select
from fencepost.spec.vocabulary import Action, EnvironmentAction, Liveness
from tests.impl.sim.build import violated
from tests.impl.sim.random_walks import random_behaviours
from tests.spec.tla.test_names import NOT_MODELLED

NAMES = sorted(path.stem for path in SCHEDULES.glob("*.json"))
LEVEL_ONE = "truncation_to_high_watermark"
STORY = "followers_serve_consumers"
"""A counterexample that is a story; `tests/stories` plays all of them."""
SEEN_BY_CHECKS = {
    "accept_older_controller_epoch",
    "commands_without_epochs",
    "controller_epoch_not_raised",
    "high_watermark_from_leader_alone",
    "leader_epoch_not_raised",
    "leader_may_leave_isr",
    "no_controller_epoch_check",
    "no_znode_version_check",
    "recompute_high_watermark",
    "shrink_on_election_empties_isr",
}
"""Schedules whose property is a check of traces too, and whose trace that check fails."""

NOT_STEPPED = {
    "refuse_above_high_watermark",
    "leader_stays_outside",
    "stop_before_unassign",
    "delete_what_assignment_omits",
    "delete_before_assignment",
    "stop_replica_without_epoch",
    "replay_trigger",
    "stop_replica_without_incarnation",
    "directory_without_incarnation",
    "trust_version_across_incarnations",
    "forget_producers_on_leader_change",
    "append_under_a_small_isr",
    "act_before_reading",
    "stand_after_reading_another",
    "leave_isr_to_its_leader",
    "first_leader_alone",
    "fenced_leader_commits",
    *("accept_missing_epoch", "older_brokers_do_what_is_forwarded"),
    *("obey_stop_of_last_epoch", "retry_at_once"),
    *("any_broker_writes", "forward_again", "apply_again", "lost_answer_is_refusal"),
    *("believe_any_principal", "forwarder_is_principal", "coordinator_as_client"),
    *("unbounded_bucket", "charge_validate_only", "client_id_before_user", "bucket_of_the_quota"),
    *("request_throttle_only", "throttle_multiplies_rate", "refuse_old_clients"),
    "charge_per_topic",
    *("keep_outlived_tokens", "remove_living_tokens"),
}
"""Modelled in `ClientHistory`, `DelegationTokens`, `Forwarding`, `IdempotentProducers`,
`MutationQuota`, `Partitions`, `QuotaPrecedence`, `Reassignment` and `TopicLifecycle`, which are not
stepped, or under a `min.insync.replicas` of 2, where stepped clusters have 1."""

FAULTLESS = {Action.CREATE_TOPIC, Action.INIT_LEADER, Action.EXPAND_ISR}


def actions_of(schedules: Iterable[SteppedSchedule]) -> frozenset[str]:
    return frozenset(step.action for schedule in schedules for step in schedule.steps)


def committed(name: str) -> SteppedSchedule:
    return read_schedule(SCHEDULES / f"{name}.json")


# Counterexamples


def test_every_schedule_has_a_source_and_every_source_a_schedule() -> None:
    assert sorted(SOURCES) == NAMES


def test_every_mutant_has_a_schedule_unless_its_runs_do_not_heal() -> None:
    """A counterexample of the specs to a liveness property has no end that could be judged."""
    never_heal = {r.name for r in MUTANTS.values() if r.caught_by & {*Liveness}}
    stepped = {path.stem for path in SCHEDULES.glob("*.*")} - {LEVEL_ONE}

    assert {*MUTANTS} == stepped | never_heal | NOT_MODELLED | NOT_STEPPED
    assert never_heal & set(NAMES) == set()


def test_switch_and_mutant_have_one_name() -> None:
    mutants = {name: committed(name).setting.mutants for name in NAMES if name != LEVEL_ONE}

    assert mutants == {name: (name,) for name in mutants}


@pytest.mark.parametrize("name", [*NAMES, STORY])
def test_a_counterexample_of_the_specs_is_one_of_the_core(name: str) -> None:
    done = adapter.replay(name, judge)

    assert (done["steps"], done["mismatch"]) == (done["of"], "")
    assert done["wanted"] in done["violated"]  # type: ignore[operator]
    shown = "" if name == LEVEL_ONE else MUTANTS[mutant_name(name)].shows
    assert shown in {"", done["wanted"]}
    if name in SEEN_BY_CHECKS:
        assert done["wanted"] in violated(done["events"])  # type: ignore[arg-type]


def test_a_step_is_read_from_the_states_around_it() -> None:
    for schedule in map(committed, NAMES):
        read = [read_step(*states) for states in pairwise(schedule.states())]

        assert read == [(step.action, step.actor, step.parameters) for step in schedule.steps]


def test_the_hunt_takes_the_counterexample_first() -> None:
    records = [r for r in adapter.mutants() if r["mutant"] == "expand_laggards"]
    (caught,) = hunt(records)

    assert caught.is_caught
    assert caught.seeds == 0
    assert caught.expected == ("CommittedDurable",)
    assert caught.reproduce == "fencepost simulate --steps expand_laggards"


def test_a_schedule_that_the_core_leaves_catches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [r for r in adapter.mutants() if r["mutant"] == "expand_laggards"]
    right = repaired(committed("expand_laggards"))
    monkeypatch.setattr(counterexamples, "read_schedule", lambda _: right)
    (escaped,) = hunt(records)

    assert not escaped.is_caught
    assert "step 4, ExpandIsr of 1" in escaped.message


def hunt(records: list[dict[str, object]]) -> tuple[MutantResult, ...]:
    """The kill table of these records alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adapter, "mutants", lambda: records)
        return hunt_mutants(1, jobs=1)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(name for name, s in SOURCES.items() if not s.is_slow))
def test_a_schedule_is_what_the_specs_have_now(name: str) -> None:
    fresh = msgspec.to_builtins(make(name))

    assert fresh == msgspec.to_builtins(committed(name))


# Random behaviours of the protocol


@pytest.mark.tlc
@pytest.mark.parametrize(
    "row",
    [
        "isr_changes",
        pytest.param("messages_lost_and_repeated", marks=pytest.mark.long),
        pytest.param("controller_failover_lost_reply", marks=pytest.mark.long),
    ],
)
def test_the_core_follows_the_specs(row: str) -> None:
    (model,) = select(load_models(), [row])
    schedules = list(random_behaviours(model, count=50, depth=40, seed=7))

    followed = [replay(schedule) for schedule in schedules]

    assert [str(done.mismatch) for done in followed if done.mismatch is not None] == []
    assert [done.violated for done in followed if done.violated] == []
    assert len(actions_of(schedules)) >= 14


@pytest.mark.long
@pytest.mark.tlc
def test_the_core_follows_the_specs_from_an_empty_start() -> None:
    (model,) = select(load_models(), ["start_and_late_commands"])
    schedules = list(random_behaviours(model, count=50, depth=45, seed=7))

    assert [str(d.mismatch) for s in schedules if (d := replay(s)).mismatch is not None] == []
    assert {action.value for action in FAULTLESS} <= actions_of(schedules)
    assert EnvironmentAction.DUPLICATE_MESSAGE.value in actions_of(schedules)


# A difference is seen


def changed(schedule: SteppedSchedule, at: int, **variables: object) -> SteppedSchedule:
    """The schedule with other values in the state after step `at`."""
    step = schedule.steps[at]
    other = msgspec.structs.replace(step, changed={**step.changed, **variables})
    return msgspec.structs.replace(
        schedule, steps=(*schedule.steps[:at], other, *schedule.steps[at + 1 :])
    )


@pytest.mark.parametrize(
    "name", ["no_step_down", "restart_ignores_znode", LEVEL_ONE, "two_step_controller_election"]
)
def test_a_wrong_field_anywhere_is_named(name: str) -> None:
    schedule = committed(name)
    state = schedule.states()[1]
    for variable, value in state.items():
        for path, other in corrupted(value):
            wrong = changed(schedule, 0, **{variable: other})
            if variable == "budget" or is_not_compared(variable, path):
                continue

            mismatch = replay(wrong).mismatch

            assert mismatch is not None, (variable, path)
            assert mismatch.step == 1
            assert any(d.field.startswith(variable) for d in mismatch.differences)


def corrupted(value: object, path: str = "") -> list[tuple[str, object]]:
    """The value with each number, truth and list in it changed, one at a time."""
    if isinstance(value, bool):
        return [(path, not value)]
    if isinstance(value, int):
        return [(path, value + 7)]
    if isinstance(value, dict):
        return [
            (where, {**value, key: other})
            for key, item in value.items()
            for where, other in corrupted(item, f"{path}.{key}")
        ]
    return []


def is_not_compared(variable: str, path: str) -> bool:
    """What `observed_state.py` says of an empty log."""
    return variable == "logs" and path.endswith("is_truncated")


def test_a_step_that_the_core_cannot_take_is_told() -> None:
    schedule = committed("no_step_down")
    late = msgspec.structs.replace(schedule, steps=schedule.steps[3:])

    mismatch = replay(late).mismatch

    assert mismatch is not None
    assert "step 1" in str(mismatch)


# Files


def test_a_schedule_is_read_as_it_was_written(tmp_path: Path) -> None:
    schedule = committed("no_step_down")

    write_schedule(tmp_path / "again.json", schedule)

    assert read_schedule(tmp_path / "again.json") == schedule


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "No such file"),
        ("{}", "is no schedule"),
        ("nonsense", "is no schedule"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "file.json"
    if text is not None:
        path.write_text(text)

    with pytest.raises(ScheduleError, match=message):
        read_schedule(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"action":"LeaderAppend"',
            '"action":"LeaderSings"',
            "step 1 takes the action LeaderSings",
        ),
        ('"replicas":', '"replies":', "the first state lacks replicas"),
        ('"mutants":["no_step_down"]', '"mutants":["no_step_up"]', "there is no mutant no_step_up"),
        ('"level":2', '"level":9', "there is no level 9"),
        ('"actor":1', '"actor":7', "step 1 is taken by 7, which is not in the setting"),
    ],
)
def test_a_file_of_the_right_shape_that_names_nothing_known_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    file = tmp_path / "steps.json"
    text = (SCHEDULES / "no_step_down.json").read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))

    with pytest.raises(ScheduleError, match=message):
        read_schedule(file)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    newer = msgspec.structs.replace(committed("no_step_down"), format=99)
    write_schedule(tmp_path / "newer.json", newer)

    with pytest.raises(ScheduleError, match="has format 99"):
        read_schedule(tmp_path / "newer.json")


def test_the_assignment_prefers_the_leaders_of_the_spec() -> None:
    schedule = committed("expand_below_epoch_start")
    elected = [s.parameters["leader"] for s in schedule.steps if "leader" in s.parameters]

    order = preference(schedule)

    assert order[0] == 1
    assert order[1] == elected[0]
    assert sorted(order) == [1, 2, 3]
