"""Plans are made small: what is not needed goes, and the rest gets shorter and closer."""

from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.adapter import UsageError
from conformance.plan_shrink import PlanShrinker
from conformance.run_shrink import Tries, shrink_plan, shrink_run
from fault_injection.fault_kind import Backend
from fault_injection.plan import Action, AfterAction, At, Plan, Trigger
from fault_injection.plan_file import plan_from_text, to_yaml
from fault_injection.plan_record import EXECUTED
from fault_injection.process_faults import PauseBroker
from fault_injection.targets import broker


def pause(name: str, when: Trigger, for_ms: int = 800, until: Trigger | None = None) -> Action:
    fault = PauseBroker(target=broker(1), for_ms=for_ms)
    return Action(action_id=name, fault=fault, when=when, until=until)


def shrunk(plan: Plan, fails: Callable[[Plan], bool], runs_max: int = 100) -> Plan:
    shrinker = PlanShrinker(plan, fails, runs_max)
    found = shrinker.shrink()
    assert found.runs <= runs_max
    return found.plan


def names(plan: Plan) -> list[str]:
    return [action.action_id for action in plan.actions]


def test_what_is_not_needed_is_left_out_and_the_rest_is_shorter_and_sooner() -> None:
    plan = Plan(plan_id="p", actions=tuple(pause(n, At(at_ms=500)) for n in "abcdef"))

    found = shrunk(plan, lambda one: "d" in names(one))

    (left,) = found.actions
    assert left.action_id == "d"
    assert left.fault.active_ms == 50
    assert left.when == At(at_ms=0)


def test_who_waits_for_what_is_left_out_goes_with_it() -> None:
    ends = AfterAction(action_id="b")
    plan = Plan(
        plan_id="p",
        actions=(
            pause("a", At(at_ms=0), until=ends),
            pause("b", At(at_ms=0)),
            pause("c", AfterAction(action_id="b")),
            pause("d", At(at_ms=0)),
        ),
    )

    seen: list[list[str]] = []

    def fails(one: Plan) -> bool:
        seen.append(names(one))
        return "d" in names(one)

    assert names(shrunk(plan, fails)) == ["d"]
    assert all("b" in one or not {"a", "c"} & set(one) for one in seen)


def test_a_bound_on_runs_is_kept() -> None:
    plan = Plan(plan_id="p", actions=tuple(pause(n, At(at_ms=0)) for n in "abcdefgh"))

    assert len(shrunk(plan, lambda one: "h" in names(one), runs_max=2).actions) == 2


PLAN = """
schema: 1
id: lost
seed: 3
origin: {kind: executed, level: 2, mutant: ""}
actions:
  - {id: late, kind: rpc.delay, target: 2, params: {method: Fetch, delay_ms: 5}, for_ms: 200}
  - {id: first, kind: proc.kill, target: leader(orders/0), for_ms: 900, when: {at_ms: 300}}
"""


def test_a_simulated_plan_that_violates_nothing_runs_on_processes_and_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_from_text(PLAN)
    tried: list[str] = []

    def passes(_: object, candidate: Plan) -> bool:
        tried.append(candidate.plan_id)
        return False

    monkeypatch.setattr("conformance.run_shrink.Tries.on_processes", passes)

    with pytest.raises(UsageError, match="lost did not violate it again"):
        shrink_plan(plan, frozenset({"LeaderCompleteness"}), out=tmp_path)
    assert tried == ["lost"] * 3


def test_what_also_fails_in_the_simulator_is_made_small_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_from_text(PLAN)
    monkeypatch.setattr(
        "conformance.run_shrink.failures",
        lambda play: frozenset({"Lost"} if any(e.fault_id == "first" for e in play()) else ()),
    )

    played: list[list[str]] = []

    def also_lost(tries: Tries, candidate: Plan) -> bool:
        played.append(names(candidate))
        tries.evidence = tmp_path / "try"
        return True

    monkeypatch.setattr("conformance.run_shrink.Tries.on_processes", also_lost)

    found = shrink_plan(plan, frozenset({"Lost"}), out=tmp_path)

    assert found.backend is Backend.SIM
    assert names(found.plan) == ["first"]
    assert played == [["first"]], "what the simulator found is seen on real processes"
    assert (found.actions_before, found.violated) == (2, ("Lost",))
    assert (found.plan.plan_id, found.plan.fails_at) == ("lost_small", (2,))
    assert found.plan.origin["kind"] == "shrunk"
    assert plan_from_text(to_yaml(found.plan)) == found.plan


def test_what_fails_in_the_simulator_alone_is_made_small_on_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the delay matters; in the simulator it does not."""
    plan = plan_from_text(PLAN)
    monkeypatch.setattr("conformance.run_shrink.failures", lambda _: frozenset({"Lost"}))
    played: list[list[str]] = []

    def lost_late(tries: Tries, candidate: Plan) -> bool:
        played.append(names(candidate))
        tries.evidence = tmp_path / "try"
        return "late" in names(candidate) and len(played) % 2 == 0

    monkeypatch.setattr("conformance.run_shrink.Tries.on_processes", lost_late)

    found = shrink_plan(plan, frozenset({"Lost"}), out=tmp_path)

    assert found.backend is Backend.REAL
    assert names(found.plan) == ["late"]
    assert played[:4] == [["first"]] * 3 + [["late", "first"]]


def test_a_run_with_clients_of_its_own_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '{"schema": 1, "id": "a", "profile": "none", "actions": []}'
    (tmp_path / EXECUTED).write_text(text)
    monkeypatch.setattr("conformance.run_shrink.violations_of", lambda _: frozenset({"Lost"}))

    with pytest.raises(UsageError, match="had clients of its own, which are in no schedule"):
        shrink_run(tmp_path, out=tmp_path)


def test_a_run_that_violates_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / EXECUTED).write_text('{"schema": 1, "id": "a", "actions": []}')

    with pytest.raises(UsageError, match="violates nothing: nothing to shrink"):
        shrink_run(tmp_path, out=tmp_path)
