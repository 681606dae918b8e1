"""A test of an outside project; `test_outside_project.py` copies it there and runs it.

The draft loses an acknowledged record: a follower truncates to its high watermark and leads. As the
scenario `truncation_loss`, told with the fixtures.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.fault_injection.faults.process_faults import KillBroker
from fencepost.fault_injection.faults.request_faults import DropRequest, DropResponse, RpcFault
from fencepost.fault_injection.faults.targets import broker
from fencepost.spec.trace import TraceEvent

if TYPE_CHECKING:  # they know gRPC, which is slow to collect
    from fencepost.conformance.runs.running_cluster import RunningCluster
    from fencepost.conformance.testing.faults import Faults

LONG_MS = 60_000
STEP_MS = 15_000


@pytest.fixture
def cluster_settings() -> ClusterSettings:
    return ClusterSettings(replica_lag_ms=LONG_MS, session_timeout_ms=3000)


def fetch(fault: type[RpcFault], sender: int, receiver: int) -> RpcFault:
    """All requests of the kind, from one broker to another."""
    return fault(
        method="Fetch", sender=broker(sender), receiver=broker(receiver), count=0, for_ms=LONG_MS
    )


def kill(broker_id: int) -> KillBroker:
    return KillBroker(target=broker(broker_id), restart_after_ms=None)


def serves(follower: int) -> Callable[[TraceEvent], bool]:
    return lambda event: (
        event.action == "ServeFetch"
        and event.topic == "ledger"
        and event.peer == f"broker-{follower}"
        and (event.offset or 0) >= 2
    )


def obeys(event: TraceEvent) -> bool:
    return (
        event.action == "BecomeFollower"
        and event.topic == "ledger"
        and (event.leader_epoch or 0) > 0
    )


@pytest.mark.chaos(level=0)
def test_truncation(cluster: "RunningCluster", faults: "Faults") -> None:
    follower = cluster.controller()
    assert follower is not None
    leader, third = [b for b in cluster.brokers if b != follower]
    (ledger,) = cluster.create_topic("ledger", [[leader, follower, third]])
    client = cluster.client()
    assert client.produce(ledger, ["first"], timeout_ms=STEP_MS).is_ok

    with ThreadPoolExecutor(1) as thread, ExitStack() as lasting:
        with faults.active(fetch(DropRequest, third, leader)):
            second = thread.submit(client.produce, ledger, ["second"], timeout_ms=STEP_MS)
            cluster.await_event(leader, serves(follower), "the second record at the follower")
            lasting.enter_context(faults.active(fetch(DropResponse, follower, leader)))
        assert second.result().is_ok
        lasting.enter_context(faults.active(kill(third)))
        cluster.await_event(follower, obeys, "the new epoch at the follower")
        lasting.enter_context(faults.active(kill(leader)))
        cluster.await_state(lambda: cluster.leader_of(ledger) == follower, "the election")
