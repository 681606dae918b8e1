"""A controller may die after any write of a creation or deletion: the next one completes it."""

from functools import partial
from itertools import count

import pytest

from fencepost.impl.sim.engine.liveness_state import is_converged
from fencepost.impl.sim.world.clients import AdministrativeRequest
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.sim.world.process import Process
from fencepost.spec.vocabulary import BrokerId
from tests.impl.sim.build import calm
from tests.impl.sim.crashes import (
    CrashAfterWrite,
    create,
    delete,
    leftovers,
    restart_the_dead,
)

PARTITIONS = 4
LIMIT_MS = 15_000


def ready(seed: int) -> tuple[VirtualCluster, Process]:
    """Three brokers, one of them controller."""
    cluster = VirtualCluster(calm(seed=seed), "crashes")
    cluster.scheduler.run_until(LIMIT_MS, lambda: cluster.controller() is not None)
    controller = cluster.controller()
    assert controller is not None
    return cluster, controller


def goes_on(cluster: VirtualCluster) -> bool:
    """The dead broker comes back, and the cluster comes to rest with all partitions led."""
    limit_ms = cluster.scheduler.now_ms + LIMIT_MS
    return cluster.scheduler.run_until(limit_ms, partial(is_converged, cluster))


def created(seed: int) -> VirtualCluster:
    cluster, _ = ready(seed)
    create(cluster, "t", PARTITIONS)
    assert goes_on(cluster)
    return cluster


def wait_for(cluster: VirtualCluster, crash: CrashAfterWrite, asked: AdministrativeRequest) -> None:
    """The crash has happened, or there was nothing left to write."""
    limit_ms = cluster.scheduler.now_ms + 2_000
    cluster.scheduler.run_until(limit_ms, lambda: crash.has_happened)
    if crash.has_happened:
        limit_ms = cluster.scheduler.now_ms + LIMIT_MS
        cluster.scheduler.run_until(limit_ms, lambda: cluster.controller() is not None)
    restart_the_dead(cluster)
    assert is_granted(cluster, asked)


def is_granted(cluster: VirtualCluster, asked: AdministrativeRequest) -> bool:
    limit_ms = cluster.scheduler.now_ms + LIMIT_MS
    return cluster.scheduler.run_until(limit_ms, lambda: asked.is_granted)


def is_gone(cluster: VirtualCluster) -> bool:
    limit_ms = cluster.scheduler.now_ms + LIMIT_MS
    return cluster.scheduler.run_until(limit_ms, lambda: not leftovers(cluster))


def test_a_controller_that_dies_while_it_creates_is_followed_by_one_that_ends_it() -> None:
    for number in count(1):
        cluster, controller = ready(number)
        crash = CrashAfterWrite(controller, number)
        wait_for(cluster, crash, create(cluster, "t", PARTITIONS))
        assert goes_on(cluster), number
        if not crash.has_happened:
            break
    assert number > 1


@pytest.mark.parametrize("together", [1, 50])
def test_a_broker_that_dies_while_it_deletes_leaves_no_half_topic(
    monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    """In one multi, and in steps; each broker dies once, after each of its writes in turn."""
    monkeypatch.setattr("fencepost.impl.core.rules.controller.topic_tree.TOGETHER_MAX", together)
    crashes = 0
    for number in count(1):
        happened = 0
        for broker_id in (BrokerId(1), BrokerId(2), BrokerId(3)):
            cluster = created(number)
            crash = CrashAfterWrite(cluster.processes[broker_id], number)
            wait_for(cluster, crash, delete(cluster, "t"))
            assert is_gone(cluster), (number, broker_id, leftovers(cluster))
            happened += crash.has_happened
        crashes += happened
        if not happened:
            break
    assert crashes >= (PARTITIONS if together == 1 else 1)


def test_a_broker_that_was_away_while_a_topic_went_drops_it_at_its_return() -> None:
    cluster = created(1)
    away = next(b for b, p in cluster.processes.items() if p is not cluster.controller())
    cluster.processes[away].die()
    assert is_granted(cluster, delete(cluster, "t"))
    limit_ms = cluster.scheduler.now_ms + LIMIT_MS
    cluster.scheduler.run_until(limit_ms, lambda: len(leftovers(cluster)) == PARTITIONS)
    assert all(name.startswith(f"broker {away}:") for name in leftovers(cluster))

    restart_the_dead(cluster)
    assert is_gone(cluster)


def test_a_broker_whose_session_was_over_while_a_topic_went_drops_it_too() -> None:
    """It lives on and was sent no command: the INIT of its next registration tells it."""
    cluster = created(2)
    away = next(b for b, p in cluster.processes.items() if p is not cluster.controller())
    cluster.processes[away].pause()
    run_ms = cluster.scheduler.now_ms + 3 * cluster.options.session_timeout_ms
    cluster.scheduler.run_until(run_ms)
    delete(cluster, "t")
    limit_ms = cluster.scheduler.now_ms + LIMIT_MS
    cluster.scheduler.run_until(limit_ms, lambda: len(leftovers(cluster)) == PARTITIONS)
    cluster.processes[away].resume()

    assert is_gone(cluster), leftovers(cluster)


def test_a_topic_that_comes_again_at_once_is_whole() -> None:
    cluster = created(3)
    for _ in range(3):
        assert is_granted(cluster, delete(cluster, "t"))
        assert is_granted(cluster, create(cluster, "t", PARTITIONS))

    assert goes_on(cluster)
    for broker_id, disk in cluster.disks.items():
        replicas = cluster.processes[broker_id].node.broker.replicas
        for key, log in disk.recover().items():
            assert log.partition_incarnation == replicas[key].partition_incarnation
