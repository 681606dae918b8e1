"""The fixture `quiet` over a cluster that only pretends: what disturbs it, what that is worth."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import pytest

from fencepost.conformance.adapters.errors import ChoiceError, ClusterError
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.running_cluster import RunningCluster
from fencepost.conformance.runs.scenario import RunRecord
from fencepost.conformance.testing.quiet import DisturbedError, QuietSpan
from fencepost.conformance.verdict import Verdict
from fencepost.fault_injection.engine.progress import FaultReport
from fencepost.fault_injection.faults.process_faults import PauseBroker
from fencepost.fault_injection.faults.targets import broker
from fencepost.fault_injection.injectors.injection import Registration
from fencepost.fault_injection.stories.story import StoryAction
from fencepost.spec.trace import Phase
from fencepost.spec.znodes import TopicPartition


@dataclass
class Pretending:
    """Cluster, engine and workload in one."""

    settings: ClusterSettings = field(default_factory=ClusterSettings)
    zxids: dict[int, int] = field(default_factory=lambda: {1: 10, 2: 20, 3: 30})
    is_in_sync: bool = True
    is_served: bool = True
    dead: list[int] = field(default_factory=list)
    phase: Phase | None = None
    acknowledged: int = 100

    def is_healthy(self, partitions: list[TopicPartition]) -> bool:
        return self.is_in_sync and not partitions

    def await_state(self, holds: Callable[[], bool], deadline_s: float, what: str) -> None:
        if not holds():
            raise ClusterError(f"{what} did not come within {deadline_s:g} s")

    def await_acknowledged(self, count: int, deadline_s: float) -> bool:
        assert deadline_s > 0
        return self.is_served and count > self.acknowledged

    def ended(self) -> list[int]:
        return self.dead

    def log_tail(self, broker_id: int) -> str:
        return f"broker {broker_id}: no space left"

    def registration(self, broker_id: int) -> Registration | None:
        zxid = self.zxids.get(broker_id)
        return None if zxid is None else Registration(session_id=1, zxid=zxid, address="")

    def reports(self) -> list[FaultReport]:
        if self.phase is None:
            return []
        fault = PauseBroker(target=broker(1), for_ms=1)
        timed = StoryAction.at(action_id="fault-1", at_ms=0, fault=fault)
        return [
            FaultReport(
                action=timed,
                phase=self.phase,
                broker_id=1,
                evidence=None,
                injected_ns=None,
                healed_ns=None,
            )
        ]


@dataclass
class PretendingStage:
    cluster: Pretending

    @property
    def engine(self) -> Pretending:
        return self.cluster

    @property
    def workload(self) -> Pretending:
        return self.cluster

    @property
    def partitions(self) -> list[TopicPartition]:
        return []


def quiet_of(cluster: Pretending) -> QuietSpan:
    return QuietSpan(stage=cast(RunningCluster, PretendingStage(cluster)), record=RunRecord())


def verdicts(quiet: QuietSpan) -> list[Verdict]:
    return [problem.verdict for problem in quiet.record.problems]


def test_calm_cluster_stays_undisturbed() -> None:
    quiet = quiet_of(Pretending(phase=Phase.HEALED))

    with quiet:
        pass

    assert verdicts(quiet) == []


@pytest.mark.parametrize("zxids", [{1: 10, 2: 21, 3: 30}, {1: 10, 3: 30}], ids=["anew", "gone"])
def test_lost_session_leaves_it_undecided(zxids: dict[int, int]) -> None:
    cluster = Pretending()
    quiet = quiet_of(cluster)

    with pytest.raises(DisturbedError, match="broker 2 lost its session"), quiet:
        cluster.zxids = zxids

    assert verdicts(quiet) == [Verdict.INCONCLUSIVE]


def test_clients_that_are_not_served_are_a_failure() -> None:
    cluster = Pretending()
    quiet = quiet_of(cluster)

    with pytest.raises(DisturbedError, match="no 20 requests were acknowledged"), quiet:
        cluster.is_served = False

    assert verdicts(quiet) == [Verdict.FAIL]


def test_broker_that_ends_is_a_failure_with_its_last_words() -> None:
    cluster = Pretending()
    quiet = quiet_of(cluster)

    with pytest.raises(DisturbedError, match=r"broker 3 ended .*\n.*no space left"), quiet:
        cluster.dead = [3]

    assert verdicts(quiet) == [Verdict.FAIL]


def test_span_does_not_begin_before_all_is_in_sync() -> None:
    quiet = quiet_of(Pretending(is_in_sync=False))

    with pytest.raises(DisturbedError, match="before a quiet span, full ISRs did not come"), quiet:
        pass

    assert verdicts(quiet) == [Verdict.FAIL]


def test_active_fault_is_a_mistake_of_the_test() -> None:
    cluster = Pretending()
    quiet = quiet_of(cluster)

    with (
        pytest.raises(ChoiceError, match=r"fault-1 .* is active in a quiet span; heal it"),
        quiet,
    ):
        cluster.phase = Phase.ACTIVE

    assert verdicts(quiet) == []


def test_what_the_block_raises_is_not_hidden() -> None:
    cluster = Pretending(dead=[1])
    quiet = quiet_of(cluster)

    with pytest.raises(ZeroDivisionError), quiet:
        cluster.acknowledged = 1 // 0

    assert verdicts(quiet) == []
