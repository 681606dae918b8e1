"""What is waited for once the faults of a run are over, and what is told when it does not come."""

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import cast

import pytest

from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.clients.transport import RoutingView
from fencepost.conformance.runs.quiescence import QuiescenceWait
from fencepost.conformance.runs.running_cluster import RunningCluster
from fencepost.conformance.runs.scenario import RunRecord
from fencepost.conformance.verdict import Verdict
from fencepost.fault_injection.stories.story import Story
from fencepost.spec.vocabulary import NEWEST_LEVEL, Ending, Liveness, ProtocolLevel

FRESH = RoutingView(controller_id=1, addresses={1: "here:1"})
STALE = RoutingView(controller_id=1, addresses={})
LOOKS_MAX = 3
TOLD = (
    "broker 1 tells clients live brokers none, and ZooKeeper holds 1; "
    "metadata as ZooKeeper holds them did not come"
)


def ended(views: Iterable[RoutingView], level: ProtocolLevel = NEWEST_LEVEL) -> RunRecord:
    """The record of a healthy cluster of one broker that tells clients this, one after another."""
    looks = iter(views)
    state = SimpleNamespace(
        assignments=dict, live_brokers=lambda: [1], controller=lambda: 1, pending=frozenset
    )

    def await_state(predicate: Callable[[], bool], _: float, what: str) -> None:
        if not any(predicate() for _ in range(LOOKS_MAX)):
            raise ClusterError(f"{what} did not come")

    cluster = SimpleNamespace(
        state=state,
        is_healthy=lambda _: True,
        await_state=await_state,
        routing_views=lambda: {1: next(looks)},
        ended=list,
        settings=ClusterSettings(brokers=1, level=level),
    )
    stage = SimpleNamespace(cluster=cluster, partitions=[], trace_of=lambda _: [])
    record = RunRecord()
    wait = QuiescenceWait(
        stage=cast(RunningCluster, stage), record=record, story=Story(story_id="s")
    )
    wait.await_health()
    return record


@pytest.mark.parametrize("views", [[FRESH], [STALE, STALE, FRESH]])
def test_metadata_may_come_late(views: list[RoutingView]) -> None:
    assert ended(views).problems == []


def test_metadata_that_stay_stale_fail_the_run_by_the_name_of_the_property() -> None:
    record = ended([STALE] * (LOOKS_MAX + 1))

    assert [(one.verdict, one.ending) for one in record.problems] == [
        (Verdict.FAIL, Ending.CONVERGED)
    ]
    assert record.problems[0].sentence == TOLD
    assert Liveness.EVENTUALLY_METADATA_CONVERGES in record.unhealed


def test_brokers_that_are_told_nothing_are_not_asked() -> None:
    assert ended([], ProtocolLevel.BROKER_EPOCH).problems == []
