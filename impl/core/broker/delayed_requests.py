"""What becomes of a partition's delayed produces and fetches when its replica changes."""

from dataclasses import dataclass

from fencepost.impl.core.broker.fetch import Fetches
from fencepost.impl.core.broker.produce import Produces
from fencepost.impl.core.broker.replicas import Replicas
from fencepost.spec.znodes import TopicPartition


@dataclass(slots=True)
class DelayedRequests:
    """Ends or answers all that waits on one replica."""

    _replicas: Replicas
    _produces: Produces
    _fetches: Fetches

    def start_leading(self, key: TopicPartition, *, may_have_lost: bool) -> None:
        """Answer what can be answered now; `may_have_lost` ends produces of the epochs before."""
        if may_have_lost:
            self._produces.end_delayed(key)
        self._replicas.advance(key)
        self._produces.answer_committed(key)
        self._fetches.answer_delayed(key)

    def stop_leading(self, key: TopicPartition) -> None:
        """End produces as undecided, and answer fetches with where things stand (CMD-004)."""
        self._produces.end_delayed(key)
        self._fetches.answer_delayed(key)

    def give_up(self, key: TopicPartition) -> None:
        """End produces as undecided, and refuse fetches: there will be no replica."""
        self._produces.end_delayed(key)
        self._fetches.refuse_delayed(key)
