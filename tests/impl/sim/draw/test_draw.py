"""Drawn runs: a number always draws the same run, and all kinds of faults are in it."""

from fencepost.conformance.runs.run_end import run_end
from fencepost.conformance.whitebox.mutants_on_processes import is_violated
from fencepost.fault_injection.faults.catalogue import DRAWN_KINDS
from fencepost.fault_injection.faults.fault import Fault
from fencepost.impl.mutants.mutants import mutant_name
from fencepost.impl.sim.draw.draw import multi_round, swarm
from fencepost.impl.sim.draw.mixes import MANY_PARTITIONS, NOT_REPEATED, PATIENT_MS
from fencepost.impl.sim.engine.move_recorder import MoveRecorder
from fencepost.impl.sim.engine.run import never, run as play
from fencepost.spec.vocabulary import NEWEST_LEVEL, ProtocolLevel

NUMBERS = range(1, 21)
LEVEL = ProtocolLevel.LEADER_EPOCH
NEWEST = NEWEST_LEVEL
SHORT = 11
"""A number whose run is soon simulated."""


def drawn_faults() -> list[Fault]:
    runs = [multi_round(number, level=LEVEL) for number in NUMBERS]
    return [timed.fault for run in runs for one in run.parts for timed in one.options.story.actions]


def test_the_number_alone_decides_what_happens() -> None:
    plain, wrong = (
        multi_round(7, level=LEVEL),
        multi_round(7, level=LEVEL, mutant=mutant_name("no_step_down")),
    )

    assert plain == multi_round(7, level=LEVEL)
    assert plain != multi_round(8, level=LEVEL)
    for one, other in zip(plain.parts, wrong.parts, strict=True):
        assert one.options.story == other.options.story
        assert (one.administrator_ms, one.has_bad_topic) == (
            other.administrator_ms,
            other.has_bad_topic,
        )


def test_the_swarm_has_something_of_everything() -> None:
    runs = [swarm(seed, level=LEVEL) for seed in range(300)]
    kinds = {timed.fault.kind for run in runs for timed in run.story.actions}

    assert swarm(7, level=LEVEL) == runs[7]
    assert {run.brokers for run in runs} == {3, 4, 5}
    assert {1, 2, MANY_PARTITIONS} <= {run.partitions for run in runs}
    assert all(run.replication_factor <= run.brokers for run in runs)
    for name in ("moves", "founds", "asks", "bad_topic", "by_hand", "idempotent", "mutation_quota"):
        assert {getattr(run, name) for run in runs} == {False, True}
    assert {run.survivors_first for run in runs} == {False, True}
    assert kinds >= {*DRAWN_KINDS, "zk.fail_request", "zk.watch_delay"}
    assert any(len(run.story.actions) > 15 for run in runs)


def test_from_level_3_on_brokers_end_in_good_order_and_what_they_ask_for_comes_late() -> None:
    """Nothing else of a seed's run is drawn otherwise."""
    runs = [(swarm(seed, level=LEVEL), swarm(seed, level=NEWEST)) for seed in range(25)]
    added = [
        (timed.fault.kind, getattr(timed.fault, "method", ""))
        for below, newest in runs
        for timed in newest.story.actions
        if timed.fault not in [one.fault for one in below.story.actions] and not newest.flush_ms
    ]

    assert {*added} == {("proc.term", ""), ("rpc.hold", "ControlledShutdown")}


def test_a_longer_run_has_faults_all_the_time() -> None:
    run = swarm(3, level=LEVEL, duration_ms=120_000)
    times = [timed.at_ms for timed in run.story.actions]

    assert run.duration_ms == 120_000
    assert all(any(at <= one < at + 30_000 for one in times) for at in (15_000, 45_000))


def test_twenty_numbers_have_something_of_everything() -> None:
    runs = [multi_round(number, level=LEVEL) for number in NUMBERS]
    rounds = [one for run in runs for one in run.parts]
    kinds = {fault.kind for fault in drawn_faults()}

    assert {run.options.brokers for run in runs} >= {4, 5}
    assert {run.options.unclean_leader_election for run in runs} == {False, True}
    assert {run.options.idempotent for run in runs} == {False, True}
    assert PATIENT_MS in {run.options.session_timeout_ms for run in runs}
    assert any(one.administrator_ms for one in rounds)
    assert any(one.has_bad_topic for one in rounds)
    assert any(one.options.survivors_first for one in rounds)
    assert kinds >= {
        "admin.controller_kick",
        "admin.delete_recreate_topic",
        "admin.reassign",
        "proc.bounce_fast",
        "proc.crash_at",
        "proc.kill",
        "proc.pause",
        "rpc.drop_request",
        "rpc.hold",
        "zk.cut",
        "zk.expire",
        "zk.lose_reply",
        "zk.watch_delay",
    }
    assert not kinds & NOT_REPEATED


def test_nothing_begins_when_a_round_is_over() -> None:
    for number in NUMBERS:
        for one in multi_round(number, level=LEVEL).parts:
            times = [timed.at_ms for timed in one.options.story.actions]
            assert all(0 <= at_ms < one.options.duration_ms for at_ms in times)


def test_the_protocol_stands_a_dense_run_and_processes_could_repeat_it() -> None:
    move_recorder = MoveRecorder(is_for_processes=True)
    events = play(multi_round(SHORT, level=LEVEL), "dense", move_recorder, never)

    assert not is_violated(events)
    assert not run_end(events).bad
    assert move_recorder.settles
    assert not move_recorder.obstacle
    assert move_recorder.moves


def test_a_run_ends_with_the_round_that_is_enough() -> None:
    """The same number has the same beginning, however much of it is wanted."""
    move_recorder = MoveRecorder(is_for_processes=True)
    events = play(multi_round(SHORT, level=LEVEL), "dense", move_recorder, lambda _: True)
    again = MoveRecorder(is_for_processes=True)
    play(multi_round(SHORT, level=LEVEL), "dense", again, lambda _: True)

    assert events[-1].action == "RunEnded"
    assert move_recorder.moves == again.moves
