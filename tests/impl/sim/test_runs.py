"""Whole runs: convergence, determinism, and what the checks say about each level and mutant."""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random

import pytest

import fencepost
from fencepost.conformance.runs.run_end import run_end
from fencepost.fault_injection.faults.catalogue import DRAWN_KINDS
from fencepost.fault_injection.stories.situations import SituationDraw
from fencepost.fault_injection.stories.story import Story, StoryAction
from fencepost.impl.mutants.mutants import MUTANTS
from fencepost.impl.sim.adapter import mutants, simulate
from fencepost.impl.sim.draw.draw import swarm
from fencepost.impl.sim.engine.liveness_state import is_converged
from fencepost.impl.sim.engine.options import BROKERS, TOPIC, RunOptions
from fencepost.impl.sim.engine.run import described, run
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.spec.trace import Kind, Phase, TraceEvent
from fencepost.spec.vocabulary import BrokerId, Invariant, ProtocolLevel
from fencepost.spec.znodes import CONTROLLER, CONTROLLER_EPOCH, topic_path
from tests.impl.sim.build import calm, quiet_run, settled, topic, trace_bytes, violated

ROOT = Path(fencepost.__file__).parents[1]
SEEDS = range(25)
LEVEL_0_SEEDS = (40, *range(20, 320))
"""The first one is known to lose a record; should it not any more, another one will."""
SAME = [(4, 2, None), (24, 2, None), (48, 0, None), (7, 0, None), (2, 2, "no_step_down")]
IN_SUBPROCESS = """
import hashlib, sys
from fencepost.impl.sim.adapter import simulate
from fencepost.spec.trace import encode_all
for case in sys.argv[1:]:
    seed, level, mutant = case.split(",")
    events = simulate(int(seed), level=int(level), mutant=mutant or None)
    print(hashlib.sha256(b"".join(encode_all(events))).hexdigest())
"""


# Convergence


def test_a_calm_cluster_converges_and_a_hurt_one_has_not() -> None:
    cluster = VirtualCluster(calm(), "run")
    assert not is_converged(cluster)
    topic(cluster)
    assert settled(cluster)

    cluster.processes[BrokerId(2)].pause()
    assert not is_converged(cluster)
    cluster.processes[BrokerId(2)].resume()
    assert settled(cluster)
    cluster.processes[BrokerId(2)].die()

    assert not is_converged(cluster)


def detail_of(events: Iterable[TraceEvent], action: str) -> dict[str, object]:
    (event,) = (event for event in events if event.action == action)
    detail = json.loads(event.detail or "")
    assert isinstance(detail, dict)
    return detail


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_at_level_2_a_run_converges_and_breaks_nothing(seed: int) -> None:
    events = quiet_run(seed)

    assert violated(list(events)) == set()
    assert events[-1].action == "RunEnded"
    assert detail_of(events, "RunEnded") == {"converged": True, "final_read": True}


@pytest.mark.long
def test_runs_differ_in_kind_and_do_something() -> None:
    runs = [quiet_run(seed) for seed in SEEDS]

    drawn = [swarm(seed, level=ProtocolLevel.LEADER_EPOCH) for seed in range(100)]
    faults = {timed.fault.kind for options in drawn for timed in options.story.actions}
    assert len({options.weather for options in drawn}) > 5
    assert {options.brokers for options in drawn} == {3, 4, 5}
    assert max(options.partitions for options in drawn) > 3
    assert faults >= DRAWN_KINDS
    assert len({e.fault for events in runs for e in events if e.kind is Kind.FAULT}) > 14
    acknowledged = [sum(e.action == "Produce" and e.outcome == "ok" for e in r) for r in runs]
    assert min(acknowledged) > 0


def test_a_surviving_broker_commits_everything_before_the_dead_return() -> None:
    seed = next(s for s in range(500) if swarm(s, level=ProtocolLevel.LEADER_EPOCH).survivors_first)
    events = quiet_run(seed)

    returns = min(e.mono_ns for e in events if e.phase is Phase.HEALING)
    alone = [e for e in events if e.isr and len(e.isr) == 1 and e.mono_ns < returns]
    committed = max(e.high_watermark or 0 for e in events if e.mono_ns < returns)
    ends = [e.log_end_offset for e in events if e.action == "LeaderAppend" and e.mono_ns < returns]
    assert alone
    assert committed == ends[-1]
    assert detail_of(events, "RunEnded") == {"converged": True, "final_read": True}


def test_logs_that_parted_over_two_epochs_meet_again() -> None:
    """The leader in between truncates its whole last epoch, not only what the next one lacks."""
    draw = SituationDraw(
        random=Random(3),
        brokers=BROKERS,
        session_timeout_ms=1_200,
        topic=TOPIC,
        replication_factor=len(BROKERS),
    )
    actions = tuple(
        StoryAction.at(action_id=str(number), at_ms=2_000 + at_ms, fault=fault)
        for number, (at_ms, fault) in enumerate(draw.diverging_logs())
    )
    options = RunOptions(
        seed=3,
        level=ProtocolLevel.LEADER_EPOCH,
        producers=3,
        think_ms=(1, 20),
        replica_lag_time_ms=2_000,
        story=Story(actions=actions),
    )
    events = run(described(options), "run")

    led = [(e.node, e.leader_epoch, e.log_end_offset) for e in events if e.action == "BecomeLeader"]
    (_, _, _), (_, _, _), (node, epoch, start), (_, last, end) = led
    cuts = [e for e in events if e.action == "TruncateLog" and e.node == node]
    assert (epoch, last) == (2, 3)
    assert end is not None
    assert start is not None
    assert end > start + 1
    assert [cut.log_end_offset for cut in cuts] == [start]
    assert detail_of(events, "RunEnded") == {"converged": True, "final_read": True}


def test_a_trace_has_no_gap_in_any_nodes_sequence() -> None:
    for seed in islice(SEEDS, 5):
        numbered: dict[tuple[str, int], list[int]] = {}
        for event in quiet_run(seed):
            numbered.setdefault((event.node, event.incarnation), []).append(event.seq)
        assert all(seqs == list(range(len(seqs))) for seqs in numbered.values())


def test_every_operation_is_invoked_before_it_completes() -> None:
    events = quiet_run(3)
    open_: dict[tuple[str, int, int | None], int] = {}
    completed = 0
    for event in events:
        key = event.node, event.incarnation, event.op_id
        if event.kind is Kind.INVOKE:
            assert key not in open_
            open_[key] = event.mono_ns
        elif event.kind is Kind.COMPLETE:
            assert event.inv_ns == open_.pop(key)
            assert event.mono_ns > event.inv_ns
            completed += 1
    assert completed > 100


# Determinism


@pytest.mark.parametrize(("seed", "level", "mutant"), SAME)
def test_a_seed_gives_the_same_bytes_twice(seed: int, level: int, mutant: str | None) -> None:
    again = hashlib.sha256(trace_bytes(seed, level, mutant)).hexdigest()

    assert again == kept_digest(seed, level, mutant)


@cache
def kept_digest(seed: int, level: int, mutant: str | None) -> str:
    return hashlib.sha256(trace_bytes(seed, level, mutant)).hexdigest()


def test_a_seed_gives_the_same_bytes_in_another_process() -> None:
    here = [kept_digest(*case) for case in SAME]
    hash_seed = "0" if os.environ.get("PYTHONHASHSEED") == "12345" else "12345"
    cases = [f"{seed},{level},{mutant or ''}" for seed, level, mutant in SAME]

    there = subprocess.run(
        [sys.executable, "-c", IN_SUBPROCESS, *cases],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )

    assert there.stdout.split() == here


def test_other_seeds_levels_and_mutants_give_other_bytes() -> None:
    cases = [(4, 2, None), (5, 2, None), (4, 0, None), (4, 2, "acknowledge_before_replication")]

    assert len({trace_bytes(*case) for case in cases}) == len(cases)


def test_a_run_is_a_function_of_its_options() -> None:
    options = swarm(5, level=ProtocolLevel.LEADER_EPOCH)

    assert run(described(options), "sim-5-level-2") == list(quiet_run(5))


# What the checks find


def test_at_level_0_the_simulator_finds_a_lost_record_by_itself() -> None:
    lost = {Invariant.ACKNOWLEDGED_DURABLE, Invariant.LINEARIZABLE_LOG}
    finds = (seed for seed in LEVEL_0_SEEDS if lost <= violated(simulate(seed, level=0)))

    seed = next(finds, None)

    assert seed is not None, f"no loss in {len(LEVEL_0_SEEDS)} seeds"
    assert violated(simulate(seed, level=2)) == set()


def test_a_truncation_below_the_high_watermark_is_seen_where_nothing_is_lost() -> None:
    events = simulate(1, level=2, mutant="truncate_below_high_watermark")

    assert violated(events) == {Invariant.LEADER_COMPLETE}


def test_at_level_0_no_later_controller_must_delete_what_is_left() -> None:
    """Without controller epochs its INIT cannot be told from one that comes twice (CMD-007)."""
    assert run_end(simulate(202, level=0)).bad == ()


# The adapter


def test_a_trace_tells_how_to_play_it_again() -> None:
    plain, wrong = simulate(6, level=2), simulate(6, level=1, mutant="no_step_down")

    assert detail_of(plain, "RunStarted")["reproduce"] == "fencepost simulate --seed 6 --level 2"
    again = detail_of(wrong, "RunStarted")
    assert again["reproduce"] == "fencepost simulate --seed 6 --level 1 --mutant no_step_down"
    assert (again["mutant"], again["level"], again["seed"]) == ("no_step_down", 1, 6)
    assert {event.run_id for event in wrong} == {"sim-6-level-1-no_step_down"}


def test_the_adapter_lists_every_mutant_in_plain_values() -> None:
    listed = mutants()

    assert [entry["mutant"] for entry in listed] == [*MUTANTS]
    assert json.loads(json.dumps(listed)) == listed


@pytest.mark.parametrize(
    ("level", "mutant", "reason"),
    [
        (9, None, "level 9 is not implemented; choose one of 0, 1, 2, 3"),
        (-1, None, "level -1 is not implemented"),
        (2, "nobody", "unknown mutant 'nobody'; choose one of no_znode_version_check, "),
        (2, "", "unknown mutant ''"),
    ],
)
def test_unknown_levels_and_mutants_get_one_sentence(
    level: int, mutant: str | None, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        simulate(1, level=level, mutant=mutant)


def test_a_producer_has_as_many_batches_in_flight_as_it_may() -> None:
    options = replace(calm(), idempotent=True, in_flight=3, producers=1, think_ms=(1, 2))
    events = run(described(options), "run")
    open_now: Counter[tuple[int | None, int | None]] = Counter()
    most = 0
    for event in (e for e in events if e.action == "Produce"):
        open_now[event.producer_id, event.partition] += 1 if event.kind is Kind.INVOKE else -1
        most = max([most, *open_now.values()])

    assert most == 3
    assert violated(events) == set()


def test_elections_outlast_what_is_written_by_hand() -> None:
    events = run(described(replace(calm(), by_hand=True)), "run")
    own = {event.session_id for event in events if event.action == "RegisterBroker"}
    by_hand = {
        (event.action, event.path)
        for event in events
        if event.kind is Kind.ZOOKEEPER and event.path and event.session_id not in own
    }

    assert by_hand >= {
        ("Create", CONTROLLER),
        ("Delete", CONTROLLER),
        ("SetData", CONTROLLER),
        ("SetData", CONTROLLER_EPOCH),
    }
    assert len([event for event in events if event.action == "ElectController"]) > 4
    assert violated(events) == set()
    assert run_end(events).bad == ()


def test_where_everything_is_asked_for_topics_and_partitions_come_and_go() -> None:
    options = replace(calm(), asks=True, bad_topic=True, brokers=4)
    events = run(described(options), "run")
    paths = {(event.action, event.path) for event in events if event.kind is Kind.ZOOKEEPER}

    assert ("Delete", topic_path(TOPIC)) in paths
    assert ("Create", topic_path("bad")) in paths
    assert ("Delete", topic_path("bad")) in paths
    assert {event.topic for event in events if event.action == "BecomeLeader"} > {TOPIC}
    assert violated(events) == set()
    assert run_end(events).bad == ()
