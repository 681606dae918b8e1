"""What a cluster is said to owe, one hurt at a time."""

from typing import Any

import pytest
from msgspec.structs import replace

from fencepost.impl.core.rules.tables import Role
from fencepost.impl.sim.engine.liveness_state import unhealed
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.sim.world.process import Process
from fencepost.spec.vocabulary import BrokerId, Liveness
from tests.impl.sim.build import T0, calm, run_for, settled, topic


def healed() -> VirtualCluster:
    """A cluster of three with one partition, at rest."""
    cluster = VirtualCluster(calm(), "run")
    topic(cluster)
    assert settled(cluster)
    return cluster


def controller_of(cluster: VirtualCluster) -> Process:
    controller = cluster.controller()
    assert controller is not None
    return controller


def leader_of(cluster: VirtualCluster) -> BrokerId:
    known = cluster.state(T0)
    assert known is not None
    return known[0].leader


def test_a_cluster_at_rest_owes_nothing() -> None:
    assert set(unhealed(healed())) == set()


def test_a_cluster_that_begins_owes_everything_that_comes_first() -> None:
    owed = set(unhealed(VirtualCluster(calm(), "run")))

    assert owed == {
        Liveness.BROKER_EVENTUALLY_LEARNS_ROLE,
        Liveness.CONTROLLER_EVENTUALLY_EXISTS,
        Liveness.EVENTUALLY_LEADER,
    }


def test_no_leader_is_owed_while_the_whole_isr_stays_dead() -> None:
    cluster = healed()
    last = leader_of(cluster)
    others = sorted(cluster.processes.keys() - {last})
    for broker_id in others:
        cluster.processes[broker_id].die()
    run_for(cluster, 5_000)
    cluster.processes[last].die()
    for broker_id in others:
        cluster.restart(cluster.processes[broker_id])
    run_for(cluster, 5_000)
    assert Liveness.EVENTUALLY_LEADER in set(unhealed(cluster))

    cluster.absent = frozenset({last})

    assert set(unhealed(cluster)) == set()


def test_without_its_leader_a_partition_has_none_until_another_is_elected() -> None:
    cluster = healed()
    gone = leader_of(cluster)
    cluster.processes[gone].die()
    assert Liveness.EVENTUALLY_LEADER in set(unhealed(cluster))

    run_for(cluster, 5_000)

    assert leader_of(cluster) != gone
    assert Liveness.EVENTUALLY_LEADER not in set(unhealed(cluster))
    assert Liveness.EVENTUALLY_ISR_FULL in set(unhealed(cluster))


def test_nothing_is_expected_of_who_is_absent() -> None:
    cluster = healed()
    gone = leader_of(cluster)
    cluster.processes[gone].die()
    cluster.absent = frozenset({gone})
    assert Liveness.EVENTUALLY_LEADER in set(unhealed(cluster))

    assert settled(cluster)

    cluster.absent = frozenset()
    assert Liveness.EVENTUALLY_ISR_FULL in set(unhealed(cluster))


def test_a_dead_controller_is_owed_a_successor() -> None:
    cluster = healed()
    controller_of(cluster).die()
    assert Liveness.CONTROLLER_EVENTUALLY_EXISTS in set(unhealed(cluster))

    run_for(cluster, 5_000)

    assert Liveness.CONTROLLER_EVENTUALLY_EXISTS not in set(unhealed(cluster))


def test_a_resigned_holder_of_the_controller_znode_is_no_controller() -> None:
    cluster = healed()

    controller_of(cluster).node.controller.resign()

    assert set(unhealed(cluster)) == {Liveness.CONTROLLER_EVENTUALLY_EXISTS}


@pytest.mark.parametrize(
    ("leads", "wrong", "owed"),
    [
        (False, {"leader_epoch": 7}, {Liveness.BROKER_EVENTUALLY_LEARNS_ROLE}),
        (True, {"is_fenced": True}, {Liveness.EVENTUALLY_LEADER}),
        (True, {"role": Role.FOLLOWER}, {Liveness.EVENTUALLY_LEADER}),
        (False, {"needs_truncation": True}, {Liveness.EVENTUALLY_TRUNCATED}),
        (False, {"log_end_offset": 3}, {Liveness.EVENTUALLY_CONVERGED}),
        (
            True,
            {"log_end_offset": 3},
            {Liveness.EVENTUALLY_ACKED_OR_FAILED, Liveness.EVENTUALLY_CONVERGED},
        ),
    ],
)
def test_a_replica_that_is_wrong_in_one_field_owes_that(
    leads: bool, wrong: dict[str, Any], owed: set[Liveness]
) -> None:
    cluster = healed()
    leader = leader_of(cluster)
    broker_id = leader if leads else min(set(cluster.disks) - {leader})
    replicas = cluster.processes[broker_id].node.broker.replicas

    replicas.put(replace(replicas[T0], **wrong))

    assert set(unhealed(cluster)) == owed
