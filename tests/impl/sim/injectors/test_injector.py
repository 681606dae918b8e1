"""Faults in virtual time: each takes effect, heals, and leaves its phases in the trace."""

import json

import pytest

from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.process_faults import KillBroker, PauseBroker
from fencepost.fault_injection.faults.request_faults import (
    DropRequest,
    DropResponse,
    DuplicateRequest,
    HoldRequest,
)
from fencepost.fault_injection.faults.targets import CONTROLLER, broker, leader
from fencepost.fault_injection.faults.zookeeper_faults import ExpireSession
from fencepost.impl.core.types.asker import asker_of
from fencepost.impl.core.types.messages import FetchRequest
from fencepost.impl.sim.engine.liveness_state import is_converged
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.spec.trace import Phase
from fencepost.spec.vocabulary import BrokerId, LeaderEpoch, Offset
from tests.impl.sim.build import calm, inject, phases, run_for, settled, topic

HEALED = [Phase.PLANNED, Phase.INJECTING, Phase.ACTIVE, Phase.HEALING, Phase.HEALED]
TWO = BrokerId(2)


def cluster_with(*faults: tuple[int, Fault]) -> VirtualCluster:
    cluster = VirtualCluster(calm(*faults), "run")
    topic(cluster)
    assert settled(cluster)
    return cluster


@pytest.mark.parametrize(
    "fault",
    [
        PauseBroker(target=broker(2), for_ms=2_000),
        KillBroker(target=broker(2), restart_after_ms=300),
        ExpireSession(target=CONTROLLER),
        ExpireSession(target=leader("t")),
        DropRequest(method="Fetch", sender=broker(2), count=3, for_ms=3_000),
        DropResponse(method="", sender=broker(2), receiver=broker(1), for_ms=3_000),
        HoldRequest(method="Fetch", sender=broker(2), count=1, for_ms=700),
        DuplicateRequest(method="Fetch", sender=broker(2), count=0, for_ms=500),
    ],
    ids=lambda fault: fault.kind,
)
def test_each_fault_goes_through_its_phases_and_the_cluster_comes_to_rest(fault: Fault) -> None:
    cluster = cluster_with((100, fault))
    inject(cluster)

    run_for(cluster, 5_000)

    assert phases(cluster) == HEALED
    assert settled(cluster)


def test_a_paused_broker_takes_nothing_and_loses_its_session() -> None:
    cluster = cluster_with((0, PauseBroker(target=broker(2), for_ms=3_000)))
    injector = inject(cluster)
    run_for(cluster, 100)
    process = cluster.processes[TWO]
    session_id, seen = process.zookeeper.session_id, process.trace.clock.now

    run_for(cluster, 2_500)

    assert process.is_paused
    assert process.trace.clock.now == seen
    assert not cluster.zookeeper.touch(session_id)
    injector.heal_all()
    assert settled(cluster)
    assert process.zookeeper.session_id != session_id


def test_a_killed_broker_starts_again_on_its_disk_as_another_incarnation() -> None:
    cluster = cluster_with((0, KillBroker(target=broker(2), restart_after_ms=400)))
    inject(cluster)
    dead = cluster.processes[TWO]
    run_for(cluster, 200)
    assert not dead.is_alive
    assert cluster.processes[TWO] is dead

    run_for(cluster, 300)

    assert cluster.processes[TWO] is not dead
    started = [e for e in cluster.recorder.events if e.action == "NodeStarted" and e.broker_id == 2]
    assert [event.incarnation for event in started] == [1, 2]
    assert settled(cluster)


def test_a_broker_that_stays_dead_is_started_by_the_healing() -> None:
    cluster = cluster_with((0, KillBroker(target=broker(2), restart_after_ms=None)))
    injector = inject(cluster)
    run_for(cluster, 3_000)
    assert not cluster.processes[TWO].is_alive
    assert not is_converged(cluster)

    injector.heal_all()

    assert settled(cluster)
    assert phases(cluster) == HEALED


def test_an_expired_session_elects_another_controller() -> None:
    cluster = cluster_with((0, ExpireSession(target=CONTROLLER)))
    elected = [e for e in cluster.recorder.events if e.action == "ElectController"]
    inject(cluster)

    run_for(cluster, 1_000)

    again = [e for e in cluster.recorder.events if e.action == "ElectController"]
    assert len(again) == len(elected) + 1
    assert again[-1].controller_epoch == (elected[-1].controller_epoch or 0) + 1
    closed = [e for e in cluster.recorder.events if e.action == "CloseSession"]
    assert closed[-1].session_id == elected[-1].session_id


def test_a_rule_that_matched_nothing_was_ineffective() -> None:
    fault = DropRequest(method="OffsetForLeaderEpoch", sender=broker(2), for_ms=200)
    cluster = cluster_with((0, fault))
    inject(cluster)

    run_for(cluster, 500)

    assert phases(cluster) == [*HEALED[:-1], Phase.INEFFECTIVE]
    assert cluster.network.rules == []


def test_a_fault_on_a_broker_that_is_down_is_ineffective() -> None:
    cluster = cluster_with(
        (0, KillBroker(target=broker(2), restart_after_ms=None)),
        (500, PauseBroker(target=broker(2), for_ms=100)),
    )
    inject(cluster)

    run_for(cluster, 1_000)

    assert phases(cluster, "f1") == [Phase.PLANNED, Phase.INJECTING, Phase.INEFFECTIVE]
    assert not cluster.processes[TWO].is_paused


def test_a_held_request_arrives_when_the_fault_heals() -> None:
    fault = HoldRequest(method="Fetch", sender=broker(2), count=1, for_ms=900)
    cluster = cluster_with((0, fault))
    injector = inject(cluster)
    run_for(cluster, 800)
    (rule,) = cluster.network.rules
    assert (rule.matched, len(rule.held)) == (1, 1)

    injector.heal_all()

    (healed,) = [e for e in cluster.recorder.events if e.phase is Phase.HEALED]
    assert json.loads(healed.detail or "") == {"matched": 1, "released": 1}
    assert cluster.network.rules == []


def test_a_duplicated_request_arrives_twice() -> None:
    fault = DuplicateRequest(method="Fetch", sender=broker(2), count=0, for_ms=10_000)
    cluster = cluster_with((0, fault))
    inject(cluster)
    run_for(cluster, 1)
    answers = list[int]()
    request = FetchRequest(
        topic="none",
        partition=0,
        replica_id=TWO,
        leader_epoch=LeaderEpoch(0),
        fetch_offset=Offset(0),
    )

    cluster.send_request(
        asker=asker_of("broker-2"),
        receiver=BrokerId(1),
        request=request,
        lamport=0,
        on_answer=lambda _, lamport: answers.append(lamport),
    )
    run_for(cluster, 50)

    assert len(answers) == 2


def test_healing_everything_heals_in_reverse_order() -> None:
    cluster = cluster_with(
        (0, PauseBroker(target=broker(2), for_ms=90_000)),
        (1, PauseBroker(target=broker(3), for_ms=90_000)),
    )
    injector = inject(cluster)
    run_for(cluster, 100)

    injector.heal_all()

    healed = [e.fault_id for e in cluster.recorder.events if e.phase is Phase.HEALED]
    assert healed == ["f1", "f0"]
    injector.heal_all()
    assert [e.fault_id for e in cluster.recorder.events if e.phase is Phase.HEALED] == healed
