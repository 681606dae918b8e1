"""What must come to hold once the faults of a run are over: all in sync, served, and read.

What did not come is named by its ending, and by the liveness properties of the specs that do not
hold then.
"""

from contextlib import suppress
from dataclasses import dataclass
from time import monotonic

from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.clients.workload import NotConvergedError, read_everything
from fencepost.conformance.runs.liveness_state import owed, read_liveness_state
from fencepost.conformance.runs.running_cluster import RunningCluster
from fencepost.conformance.runs.scenario import RunRecord
from fencepost.spec.vocabulary import Ending
from fencepost.spec.zookeeper import ZooKeeperError

WORK_S = 20.0
"""How long the clients may take to get a few requests acknowledged."""
FINAL_READ_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QuiescenceWait:
    """Waits for what must come, and tells the record what has not."""

    stage: RunningCluster
    record: RunRecord
    healthy_within_s: float
    served: int
    """Requests that must be acknowledged afterwards."""

    def await_health(self) -> None:
        """Every partition is led, with all of its replicas in sync."""
        cluster, partitions, since = self.stage.cluster, self.stage.partitions, monotonic()
        try:
            cluster.await_state(
                lambda: cluster.is_healthy(partitions),
                self.healthy_within_s,
                "full ISRs after the faults",
            )
        except ClusterError as error:
            self._miss(str(error), since, self.healthy_within_s, Ending.CONVERGED)

    def await_service(self) -> None:
        """Clients are served again."""
        workload, since = self.stage.workload, monotonic()
        if workload and not workload.await_acknowledged(
            workload.acknowledged + self.served, WORK_S
        ):
            told = f"no {self.served} requests were acknowledged in {WORK_S:g} s after it"
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
        return owed(read_liveness_state(cluster.state), events, running)
