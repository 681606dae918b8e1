"""The fixture `quiet`: a span in which nothing may go wrong."""

from dataclasses import dataclass, field
from time import monotonic
from types import TracebackType

from fencepost.conformance.adapters.errors import ChoiceError, ClusterError
from fencepost.conformance.runs.running_cluster import RunningCluster
from fencepost.conformance.runs.scenario import RunRecord
from fencepost.conformance.verdict import Verdict
from fencepost.spec.trace import Phase
from fencepost.spec.vocabulary import Ending

HEALTHY_S = 25.0
SERVED = 20
"""Requests that must be acknowledged at the end of a quiet span, and how long they may take."""
SERVED_S = 20.0


class DisturbedError(Exception):
    """Something went wrong where nothing may; the sentence is among the run's problems too."""


@dataclass(slots=True, kw_only=True)
class QuietSpan:
    """`with quiet:` every broker keeps its process and its session, and the workload is served.

    It begins when everything is in sync, and ends when clients were served after the block.
    A broker that lost its session makes the run inconclusive, since the host may have stalled;
    what was never in sync or not served is a failure, unless the host is seen to have stalled.
    Raises `ChoiceError` when a fault is active, and `DisturbedError`.
    """

    stage: RunningCluster
    record: RunRecord
    _before: dict[int, int | None] = field(init=False)
    """By broker, the zxid of its registration: another one after each expiry."""

    def __enter__(self) -> None:
        self._require_no_fault()
        self._await_health()
        self._before = self._registrations()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._require_no_fault()
            self._require_service()
            self._require_same()

    def _await_health(self) -> None:
        cluster, partitions, since = self.stage.cluster, self.stage.partitions, monotonic()
        try:
            cluster.await_state(lambda: cluster.is_healthy(partitions), HEALTHY_S, "full ISRs")
        except ClusterError as error:
            raise self._missed(f"before a quiet span, {error}", since) from error

    def _require_service(self) -> None:
        workload, since = self.stage.workload, monotonic()
        if workload and not workload.await_acknowledged(workload.acknowledged + SERVED, SERVED_S):
            told = f"no {SERVED} requests were acknowledged in {SERVED_S:g} s of a quiet span"
            raise self._missed(told, since)

    def _require_same(self) -> None:
        for broker_id in self.stage.cluster.ended():
            told = f"broker {broker_id} ended in a quiet span; it said last:\n"
            raise self._disturbed(Verdict.FAIL, told + self.stage.cluster.log_tail(broker_id))
        for broker_id, zxid in self._registrations().items():
            if zxid != self._before[broker_id]:
                told = f"broker {broker_id} lost its session in a quiet span, or its host stalled"
                raise self._disturbed(Verdict.INCONCLUSIVE, told)

    def _registrations(self) -> dict[int, int | None]:
        cluster = self.stage.cluster
        found = {b: cluster.registration(b) for b in cluster.settings.broker_ids}
        return {b: registration.zxid if registration else None for b, registration in found.items()}

    def _require_no_fault(self) -> None:
        over = (Phase.HEALED, Phase.INEFFECTIVE, Phase.FAILED)
        for report in self.stage.engine.reports():
            if report.phase not in over:
                told = f"{report.action.action_id} ({report.action.fault.kind})"
                raise ChoiceError(f"{told} is active in a quiet span; heal it first")

    def _missed(self, sentence: str, since: float) -> DisturbedError:
        """A failure, unless the host may be to blame."""
        self.record.add_missed(sentence, since, Ending.CONVERGED)
        return DisturbedError(sentence)

    def _disturbed(self, verdict: Verdict, sentence: str) -> DisturbedError:
        self.record.add(verdict, sentence)
        return DisturbedError(sentence)
