"""What was once wrong in the simulator: each test shows one bug that stays away."""

from fencepost.fault_injection.faults.request_faults import DropRequest
from fencepost.fault_injection.faults.targets import broker, leader
from fencepost.impl.core.types.asker import asker_of
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.spec.vocabulary import BrokerId
from tests.impl.core.build import order
from tests.impl.sim.build import calm, inject, phases, run_for, settled, topic
from tests.impl.sim.world.test_zookeeper_client import Line


def test_two_equal_rules_are_removed_each_by_its_own_end() -> None:
    longer = DropRequest(method="LeaderAndIsr", sender=broker(2), count=0, for_ms=2_000)
    shorter = DropRequest(method="LeaderAndIsr", sender=broker(2), count=0, for_ms=200)
    cluster = VirtualCluster(calm((0, longer), (100, shorter)), "run")
    topic(cluster)
    assert settled(cluster)
    inject(cluster)
    run_for(cluster, 1_000)
    cluster.send_request(
        asker=asker_of("broker-2"),
        receiver=BrokerId(1),
        request=order(),
        lamport=0,
        on_answer=lambda *_: None,
    )

    run_for(cluster, 3_000)

    assert cluster.network.rules == []


def test_a_receiver_that_nobody_is_does_not_mean_everybody() -> None:
    fault = DropRequest(
        method="Fetch", sender=broker(2), receiver=leader("nobody"), count=0, for_ms=2_000
    )
    cluster = VirtualCluster(calm((0, fault)), "run")
    topic(cluster)
    assert settled(cluster)
    inject(cluster)

    run_for(cluster, 3_000)

    assert phases(cluster)[-1].value == "ineffective"


def test_the_last_request_of_a_killed_process_may_still_arrive() -> None:
    arrived = set()
    for seed in range(40):
        line = Line(seed)
        line.create()
        line.client.close()
        line.run(100)
        arrived.add(line.is_created)

    assert arrived == {True, False}
