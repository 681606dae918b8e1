"""What must come to hold once the faults of a run are over: all in sync, served, and read.

What did not come is named by its ending, and by the liveness properties of the specs that do not
hold then.
"""

from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from time import monotonic

from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.clients.workload import NotConvergedError, read_everything
from fencepost.conformance.runs.liveness_state import (
    Views,
    differences,
    owed,
    read_liveness_state,
)
from fencepost.conformance.runs.running_cluster import RunningCluster
from fencepost.conformance.runs.scenario import RunRecord
from fencepost.fault_injection.stories.story import Story
from fencepost.spec.vocabulary import Ending
from fencepost.spec.zookeeper import ZooKeeperError

WORK_S = 20.0
"""How long the clients may take to get a few requests acknowledged."""
FINAL_READ_S = 15.0
DIFFERENCES_TOLD = 3
"""So many of what brokers answer wrongly are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuiescenceWait:
    """Waits for what must come, and tells the record what has not."""

    stage: RunningCluster
    record: RunRecord
    story: Story

    @property
    def healthy_within_s(self) -> float:
        """The time that all of it has."""
        return self.story.healthy_within_ms / 1000

    @property
    def has_told_metadata(self) -> bool:
        """Brokers answer clients as the controller told them."""
        return self.stage.cluster.settings.has_told_metadata(self.story)

    def await_health(self) -> None:
        """Every partition is led, with all of its replicas in sync, and clients are told so."""
        cluster, partitions, since = self.stage.cluster, self.stage.partitions, monotonic()
        try:
            cluster.await_state(
                lambda: cluster.is_healthy(partitions),
                self.healthy_within_s,
                "full ISRs after the faults",
            )
        except ClusterError as error:
            self._miss(str(error), since, self.healthy_within_s, Ending.CONVERGED)
        else:
            if self.has_told_metadata:
                self._await_metadata(since)

    def _await_metadata(self, since: float) -> None:
        """Every broker answers clients what ZooKeeper holds (UMD-002)."""
        cluster, found = self.stage.cluster, list[str]()

        def is_told() -> bool:
            found[:] = differences(read_liveness_state(cluster.state), self._views())
            return not found

        left_s = ceil(10 * max(since + self.healthy_within_s - monotonic(), 0)) / 10
        try:
            cluster.await_state(is_told, left_s, "metadata as ZooKeeper holds them")
        except ClusterError as error:
            told = "; ".join([*found[:DIFFERENCES_TOLD], str(error)])
            self._miss(told, since, self.healthy_within_s, Ending.CONVERGED)

    def _views(self) -> Views:
        return self.stage.cluster.routing_views() if self.has_told_metadata else {}

    def await_service(self) -> None:
        """Clients are served again."""
        workload, since, served = self.stage.workload, monotonic(), self.story.floors.after
        if workload and not workload.await_acknowledged(workload.acknowledged + served, WORK_S):
            told = f"no {served} requests were acknowledged in {WORK_S:g} s after it"
            self._miss(told, since, WORK_S, Ending.CONVERGED)

    def read_everything(self) -> None:
        """Every partition has been read to its end."""
        reader, since = self.stage.final_reader, monotonic()
        try:
            read_everything(reader, self.stage.partitions, deadline_s=FINAL_READ_S)
        except NotConvergedError as error:
            self._miss(str(error), since, FINAL_READ_S, Ending.FINAL_READ)

    def _miss(self, sentence: str, since: float, deadline_s: float, ending: Ending) -> None:
        """A wait that used all of its time may have lacked some; a dead broker has no excuse."""
        is_late = monotonic() - since >= deadline_s
        self.record.add_missed(sentence, since if is_late else None, ending)
        with suppress(ZooKeeperError):
            self.record.unhealed |= set(self._owed())

    def _owed(self) -> tuple[str, ...]:
        cluster = self.stage.cluster
        down = cluster.ended()
        running = [b for b in cluster.settings.broker_ids if b not in down]
        events = [event for b in running for event in self.stage.trace_of(b)]
        return owed(read_liveness_state(cluster.state), events, running, self._views())
