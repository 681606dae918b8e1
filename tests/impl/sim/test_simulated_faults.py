"""Faults that only the simulator can do: each takes effect, heals, and is harmless at level 2."""

import json
from dataclasses import replace
from functools import partial
from typing import Literal

import pytest

from fencepost.fault_injection.faults.admin_faults import KickController
from fencepost.fault_injection.faults.clock_faults import DriftClock, JumpClock, StrobeClock
from fencepost.fault_injection.faults.disk_faults import (
    BreakDisk,
    CorruptTail,
    FillDisk,
    LosePower,
    SlowDisk,
    StaleCheckpoint,
)
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.network_faults import (
    BridgeBrokers,
    CutOneWay,
    DelayLink,
    FlapBroker,
    IsolateBroker,
    PartitionBrokers,
    ReorderLink,
    RingOfMajorities,
    SwizzleBrokers,
)
from fencepost.fault_injection.faults.process_faults import (
    BounceBroker,
    CrashAt,
    KillBroker,
    RollBrokers,
    StarveBroker,
    StopBroker,
    StutterBroker,
)
from fencepost.fault_injection.faults.request_faults import (
    DelayRequest,
    DropRequest,
    RefuseRequest,
    ReorderRequests,
)
from fencepost.fault_injection.faults.targets import CONTROLLER, broker, follower, leader
from fencepost.fault_injection.faults.zookeeper_faults import (
    CutZooKeeper,
    DelayWatches,
    DelayZooKeeper,
    DropConnection,
    ExpireSession,
    FailOverZooKeeper,
    FailZooKeeperRequests,
    HurtZooKeeperLink,
    LoseZooKeeperReplies,
    SlowSync,
)
from fencepost.impl.core.types.topic_messages import DeleteTopicRequest
from fencepost.impl.sim.engine.options import RunOptions
from fencepost.impl.sim.engine.run import described, run
from fencepost.impl.sim.world.clients import SimulatedClient, SimulatedProducer
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.spec.trace import Phase, TraceEvent
from fencepost.spec.vocabulary import CRASH_POINTS, Action, BrokerId, CrashPoint, Invariant
from tests.impl.sim.build import T0, calm, inject, phases, run_for, settled, topic, violated

HEALED = [Phase.PLANNED, Phase.INJECTING, Phase.ACTIVE, Phase.HEALING, Phase.HEALED]
TWO = BrokerId(2)


def cluster_with(*faults: tuple[int, Fault], options: RunOptions | None = None) -> VirtualCluster:
    """A cluster in which somebody produces, and the faults are planned."""
    given = options or calm(*faults)
    cluster = VirtualCluster(given, "run")
    topic(cluster)
    assert settled(cluster)
    SimulatedProducer(cluster, "client-1", [T0]).go_on()
    inject(cluster)
    return cluster


def evidence(cluster: VirtualCluster, fault_id: str = "f0") -> dict[str, int]:
    events = cluster.recorder.events
    (healed,) = [e for e in events if e.phase is Phase.HEALED and e.fault_id == fault_id]
    found = json.loads(healed.detail or "{}")
    assert isinstance(found, dict)
    return found


def is_at_rest(cluster: VirtualCluster) -> bool:
    """The producer writes on, so that the cluster need not be converged: everybody is in sync."""
    state = cluster.state(T0)
    return state is not None and state[0].isr == {1, 2, 3} and state[0].leader > 0


@pytest.mark.parametrize(
    "fault",
    [
        StutterBroker(target=leader("t"), for_ms=2_000, stands_ms=200, runs_ms=20),
        CrashAt(target=leader("t"), point="before_reply", for_ms=500),
        CrashAt(target=leader("t"), point="before_append", action="hold", for_ms=2_000),
        CrashAt(target=follower("t"), point="after_append", action="hold", for_ms=500),
        StarveBroker(target=leader("t"), for_ms=2_000, quota_percent=10),
        StopBroker(target=leader("t"), restart_after_ms=500),
        BounceBroker(target=leader("t")),
        RollBrokers(for_ms=3_300),
        RollBrokers(how="kill", wait="registered", gap_ms=100, for_ms=3_300),
        DelayRequest(method="Fetch", sender=follower("t"), count=0, for_ms=2_000, delay_ms=700),
        ReorderRequests(method="Fetch", sender=follower("t"), count=0, for_ms=2_900),
        RefuseRequest(method="Fetch", sender=follower("t"), count=0, for_ms=2_000),
        KillBroker(target=leader("t"), restart_after_ms=300, wipe="log"),
        KillBroker(target=leader("t"), restart_after_ms=0, wipe="all"),
        KillBroker(target=follower("t"), restart_after_ms=300, wipe="all"),
        LosePower(target=broker(2), for_ms=300),
        CorruptTail(target=leader("t"), for_ms=300),
        StaleCheckpoint(target=leader("t"), for_ms=300),
        SlowDisk(target=leader("t"), for_ms=1_500, delay_ms=40),
        FillDisk(target=leader("t"), for_ms=1_500),
        BreakDisk(target=leader("t"), for_ms=1_500),
        BreakDisk(target=follower("t"), for_ms=1_500),
        DriftClock(target=CONTROLLER, for_ms=2_000, rate=5_000),
        JumpClock(target=leader("t"), by_ms=30_000),
        StrobeClock(target=leader("t"), by_ms=400, every_ms=100, for_ms=2_000),
        IsolateBroker(target=leader("t"), for_ms=2_000),
        PartitionBrokers(side=(1,), for_ms=2_000),
        CutOneWay(sender=follower("t"), receiver=leader("t"), for_ms=2_000),
        ReorderLink(sender=leader("t"), delay_ms=400, for_ms=2_000),
        BridgeBrokers(target=follower("t"), for_ms=2_000),
        RingOfMajorities(for_ms=2_000),
        SwizzleBrokers(cut=(1, 2), back=(1, 2), gap_ms=500),
        FlapBroker(target=leader("t"), cut_ms=300, open_ms=200, for_ms=2_000),
        DelayLink(sender=leader("t"), delay_ms=100, jitter_ms=50, for_ms=2_000),
        DropConnection(target=CONTROLLER, every_ms=400, for_ms=2_000),
        CutZooKeeper(target=CONTROLLER, for_ms=200),
        CutZooKeeper(target=CONTROLLER, for_ms=2_500),
        DelayZooKeeper(target=CONTROLLER, for_ms=2_000, delay_ms=300),
        HurtZooKeeperLink(target=CONTROLLER, for_ms=300),
        HurtZooKeeperLink(target=leader("t"), direction="c2s", for_ms=2_500),
        HurtZooKeeperLink(target=CONTROLLER, direction="s2c", for_ms=2_500),
        HurtZooKeeperLink(target=leader("t"), mode="reset", for_ms=700),
        FailOverZooKeeper(for_ms=800),
        FailZooKeeperRequests(target=CONTROLLER, for_ms=2_000, count=4),
        ExpireSession(target=CONTROLLER, mode="local_only"),
        ExpireSession(target=leader("t"), mode="local_only"),
        KickController(),
    ],
    ids=lambda fault: fault.kind,
)
def test_each_fault_goes_through_its_phases_and_everybody_is_in_sync_again(fault: Fault) -> None:
    cluster = cluster_with((100, fault))

    run_for(cluster, 3_500)

    found = phases(cluster)
    assert list(dict.fromkeys(found)) == HEALED
    assert len(found) == len(HEALED) or found.count(Phase.INJECTING) > 1, "brokers hurt in turn"
    limit_ms = cluster.scheduler.now_ms + 8_000
    assert cluster.scheduler.run_until(limit_ms, lambda: is_at_rest(cluster))
    assert violated(cluster.recorder.events) == set()


def test_all_brokers_are_restarted_in_order() -> None:
    cluster = cluster_with((100, RollBrokers(for_ms=9_000)))
    first = dict(cluster.processes)
    run_for(cluster, 9_500)

    assert evidence(cluster) == {"matched": 3}
    injecting = [e for e in cluster.recorder.events if e.phase is Phase.INJECTING]
    assert [event.broker_id for event in injecting] == [None, 1, 2, 3]
    assert all(cluster.processes[broker_id] is not first[broker_id] for broker_id in first)


def test_requests_that_wait_for_each_other_leave_in_reverse_order() -> None:
    fault = ReorderRequests(method="Fetch", sender=broker(2), count=2, for_ms=3_000)
    cluster = cluster_with((100, fault))
    run_for(cluster, 3_500)

    assert evidence(cluster) == {"matched": 2, "released": 0}, "they left before the end"


# Disks


def dying_together(flush_ms: int) -> list[TraceEvent]:
    """All hosts lose power at once: the followers come back at once, the leader later."""
    faults = (
        (1_000, LosePower(target=follower("t", 0, 0), for_ms=100)),
        (1_000, LosePower(target=follower("t", 0, 1), for_ms=100)),
        (1_000, KillBroker(target=leader("t"), restart_after_ms=4_000)),
    )
    options = replace(calm(*faults), flush_ms=flush_ms, think_ms=(1, 5), duration_ms=6_000)
    return run(described(options), "run")


def test_who_flushes_late_loses_acknowledged_records_with_the_power() -> None:
    """Level 2 does not repair this: nothing tells the controller that a disk lost its tail."""
    assert Invariant.ACKNOWLEDGED_DURABLE in violated(dying_together(flush_ms=60_000))


def test_who_flushes_before_it_speaks_loses_nothing_that_was_acknowledged() -> None:
    assert violated(dying_together(flush_ms=0)) == set()


@pytest.mark.parametrize("wipe", ["log", "all"])
def test_what_is_wiped_everywhere_is_lost_and_the_checks_say_so(
    wipe: Literal["log", "all"],
) -> None:
    """One wiped replica gets all of it from the others, as above; here nobody has it any more."""
    faults = [
        (1_000, KillBroker(target=broker(number), restart_after_ms=100, wipe=wipe))
        for number in (1, 2, 3)
    ]
    events = run(described(replace(calm(*faults), duration_ms=2_000)), "run")

    assert violated(events) >= {Invariant.ACKNOWLEDGED_DURABLE, Invariant.LEADER_COMPLETE}


def test_a_stale_checkpoint_is_older_than_what_was_written() -> None:
    cluster = cluster_with((2_600, StaleCheckpoint(target=broker(2), for_ms=200)))
    run_for(cluster, 3_500)

    known = [e for e in cluster.recorder.events if e.broker_id == 2 and e.high_watermark]
    recovered = next(e for e in known if e.action == "LogRecovered")
    before = [e.high_watermark or 0 for e in known if e.mono_ns < recovered.mono_ns]
    assert evidence(cluster)["stale"] == 1
    assert 0 < (recovered.high_watermark or 0) < max(before)


# Processes


@pytest.mark.parametrize("point", [p for p in CRASH_POINTS if "truncate" not in p])
def test_a_process_dies_at_its_point(point: CrashPoint) -> None:
    """A leader writes when a follower leaves, which the isolation provokes; followers send."""
    victim_target = follower("t", 0, 1) if "send" in point else leader("t")
    cluster = cluster_with(
        (0, CrashAt(target=victim_target, point=point, for_ms=4_000)),
        (1, IsolateBroker(target=follower("t"), for_ms=3_000)),
    )
    victim = victim_target.resolve(cluster.view())
    assert victim is not None
    process = cluster.processes[BrokerId(victim)]

    run_for(cluster, 3_900)

    assert not process.is_alive
    run_for(cluster, 300)
    assert phases(cluster) == HEALED
    assert cluster.processes[BrokerId(victim)].is_alive


def test_a_point_that_is_never_passed_spares_the_process() -> None:
    cluster = cluster_with((0, CrashAt(target=broker(2), point="before_truncate", for_ms=400)))
    process = cluster.processes[TWO]

    run_for(cluster, 500)

    assert process.is_alive
    assert phases(cluster)[-1] is Phase.INEFFECTIVE


def test_a_broker_that_two_faults_kill_is_started_once() -> None:
    cluster = cluster_with(
        (0, LosePower(target=broker(2), for_ms=400)),
        (1, StaleCheckpoint(target=broker(2), for_ms=800)),
    )
    run_for(cluster, 700)
    once = cluster.processes[TWO]

    run_for(cluster, 500)

    assert once.is_alive
    assert cluster.processes[TWO] is once


def test_a_pause_outlasts_a_stutter_beside_it() -> None:
    cluster = cluster_with()
    process = cluster.processes[TWO]
    process.pause()
    process.pause()

    process.resume()

    assert process.is_paused
    process.resume()
    assert not process.is_paused


# Clocks


@pytest.mark.parametrize(("rate", "ahead_ms"), [(0, -1_000), (500, -500), (3_000, 2_000)])
def test_a_clock_that_drifted_keeps_what_it_gained(rate: int, ahead_ms: int) -> None:
    cluster = cluster_with((0, DriftClock(target=broker(2), for_ms=1_000, rate=rate)))

    run_for(cluster, 2_000)

    clock = cluster.processes[TWO].clock
    assert clock.now_ms - cluster.scheduler.now_ms == ahead_ms
    assert evidence(cluster) == {"ahead_ms": ahead_ms}


def test_a_strobe_jumps_again_and_again() -> None:
    strobe = StrobeClock(target=broker(2), by_ms=70, every_ms=100, for_ms=950)
    cluster = cluster_with((0, strobe))

    run_for(cluster, 2_000)

    assert evidence(cluster) == {"matched": 10, "ahead_ms": 700}


# Links and ZooKeeper


def test_what_is_cut_one_way_gets_through_the_other_way() -> None:
    cluster = cluster_with((0, CutOneWay(sender=broker(1), receiver=broker(2), for_ms=500)))
    run_for(cluster, 10)
    passes = cluster.network.passes

    assert passes(1, 2) is None
    assert passes(2, 1) is not None
    assert passes(1, 3) is not None
    run_for(cluster, 600)
    assert passes(1, 2) is not None


def test_sides_of_a_partition_hear_themselves_and_clients_hear_both() -> None:
    cluster = cluster_with((0, PartitionBrokers(side=(1, 3), for_ms=500)))
    run_for(cluster, 10)
    reached = {
        (a, b): cluster.network.passes(a, b) is not None for a in (-2, 1, 2, 3) for b in (1, 2, 3)
    }

    lost = {pair for pair, reaches in reached.items() if not reaches}
    assert lost == {(1, 2), (2, 1), (3, 2), (2, 3)}


def test_sessions_outlive_an_election_of_zookeeper_that_is_longer_than_they_are() -> None:
    cluster = cluster_with((0, FailOverZooKeeper(for_ms=3_000)))
    sessions = {b: p.zookeeper.session_id for b, p in cluster.processes.items()}

    run_for(cluster, 3_900)

    assert phases(cluster) == HEALED
    kept = [b for b, p in cluster.processes.items() if p.zookeeper.session_id == sessions[b]]
    assert kept


def test_who_is_cut_from_zookeeper_for_long_loses_its_session() -> None:
    cluster = cluster_with((0, CutZooKeeper(target=broker(2), for_ms=2_500)))
    process = cluster.processes[TWO]
    session_id = process.zookeeper.session_id

    run_for(cluster, 2_000)

    assert process.zookeeper.session_id == session_id
    assert not cluster.zookeeper.touch(session_id)


def test_who_is_refused_keeps_the_connection_that_it_has() -> None:
    cluster = cluster_with(
        (0, HurtZooKeeperLink(target=broker(2), mode="refuse", for_ms=2_900)),
        (1_000, DropConnection(target=broker(2), every_ms=500, for_ms=1)),
    )
    session_id = cluster.processes[TWO].zookeeper.session_id
    run_for(cluster, 990)
    assert cluster.link_faults[TWO][0].matched == 0
    run_for(cluster, 1_800)

    assert not cluster.zookeeper.touch(session_id)
    run_for(cluster, 500)
    assert evidence(cluster)["matched"] > 1


@pytest.mark.parametrize(("path", "is_late"), [("/brokers/ids*", True), ("/controller", False)])
def test_a_controller_hears_late_that_a_leader_is_gone(path: str, is_late: bool) -> None:
    watches = DelayWatches(target=CONTROLLER, delay_ms=2_000, for_ms=6_000, path=path)
    killed = KillBroker(target=leader("t"), restart_after_ms=9_000)
    cluster = cluster_with(options=calm((0, watches), (1, killed), seed=10))
    assert cluster.view().leaders[T0] != cluster.view().controller_id
    run_for(cluster, 7_000)
    events = cluster.recorder.events
    (gone,) = [e for e in events if e.action == "Delete" and "/brokers/ids/" in (e.path or "")]
    elected = [e for e in events if e.action == Action.ELECT_LEADER and e.mono_ns > gone.mono_ns]

    assert ((elected[0].mono_ns - gone.mono_ns) / 1e6 >= 2_000) == is_late
    assert phases(cluster)[-1] is (Phase.HEALED if is_late else Phase.INEFFECTIVE)
    assert violated(events) == set()


def test_writes_whose_answers_are_lost_are_done() -> None:
    cluster = cluster_with(
        (0, LoseZooKeeperReplies(target=leader("t"), for_ms=4_000)),
        (1, IsolateBroker(target=follower("t"), for_ms=3_000)),
    )

    run_for(cluster, 4_500)

    unknown = [e for e in cluster.recorder.events if e.error_code == "CONNECTION_LOST"]
    assert evidence(cluster)["matched"] == 1
    assert unknown


def test_requests_that_fail_are_not_done() -> None:
    cluster = cluster_with(
        (0, FailZooKeeperRequests(target=leader("t"), for_ms=4_000, requests="write")),
        (1, IsolateBroker(target=follower("t"), for_ms=3_000)),
    )

    run_for(cluster, 4_500)

    lines = cluster.recorder.events
    unknown = {e.request_id for e in lines if e.error_code == "CONNECTION_LOST"}
    assert evidence(cluster)["matched"] == 1
    assert unknown


def test_writes_wait_for_a_slow_disk_of_zookeeper_and_reads_behind_them() -> None:
    delay_ms = 400
    cluster = cluster_with((0, SlowSync(delay_ms=delay_ms, for_ms=3_000)))
    run_for(cluster, 10)
    asked_ms = cluster.scheduler.now_ms
    disk = cluster.zookeeper.slow_sync
    done: list[tuple[str, int]] = []
    assert disk is not None

    def perform(name: str) -> None:
        done.append((name, cluster.scheduler.now_ms))

    disk.enter(partial(perform, "write"), is_write=True)
    disk.enter(partial(perform, "read"), is_write=False)
    disk.enter(partial(perform, "second"), is_write=True)

    run_for(cluster, 2 * delay_ms)

    first_ms = asked_ms + delay_ms
    assert done == [("write", first_ms), ("read", first_ms), ("second", first_ms + delay_ms)]


def test_leader_is_told_late_of_what_it_wrote_while_the_disk_is_slow() -> None:
    cluster = cluster_with(
        (0, SlowSync(delay_ms=300, for_ms=4_000)),
        (1, IsolateBroker(target=follower("t"), for_ms=3_000)),
    )

    run_for(cluster, 4_500)

    assert evidence(cluster)["matched"] > 0
    assert phases(cluster) == HEALED
    assert violated(cluster.recorder.events) == set()


def test_a_policy_may_lead_past_an_isr_whose_only_log_failed() -> None:
    """Its member is registered all the same: without the failure the election is a violation."""
    faults: list[tuple[int, Fault]] = [
        (100, DropRequest(method="Fetch", sender=follower("t", 0, n), for_ms=9_000, count=1_000))
        for n in (0, 1)
    ]
    faults.append((5_000, BreakDisk(target=leader("t"), for_ms=4_000)))
    cluster = cluster_with(options=replace(calm(*faults), unclean_leader_election=True))
    run_for(cluster, 8_000)
    events = cluster.recorder.events
    healthy = [event for event in events if event.action != "LogFailed"]

    assert [event.is_unclean for event in events if event.action == Action.ELECT_LEADER] == [True]
    assert violated(events) == set()
    assert violated(healthy) == {Invariant.ONLY_AUTHORISED_WRITES}


def test_a_log_that_is_deleted_has_not_failed_any_more() -> None:
    """The next incarnation of the partition may be written, or fails by itself."""
    cluster = cluster_with((100, BreakDisk(target=leader("t"), for_ms=9_000)))
    run_for(cluster, 2_000)
    (process,) = [p for p in cluster.processes.values() if p.failed_logs]
    assert process.failed_logs == {T0}
    admin = SimulatedClient(cluster, "client-admin-2")
    admin.ask(process.broker_id, DeleteTopicRequest(topic="t"), lambda _: None)
    run_for(cluster, 2_000)

    assert process.failed_logs == set()
