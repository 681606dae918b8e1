"""What an idempotent producer has in flight, and the numbers of its batches (KIP-98, CLI-005).

Several senders of one producer share a window: each has one batch that is not answered. A batch is
numbered when it is sent for the first time, and keeps its number in every try. Batches that follow
it may arrive first and are refused then; a well-behaved producer sends these again, and gives up
only what was refused although everything before it had been acknowledged when it was sent. After
that it goes on under the next epoch of the partition, so that nothing late is taken for something
new; what it had in flight there under the former one is given up too.
"""

from dataclasses import dataclass, field

from msgspec.structs import replace

from fencepost.fault_injection.workload.operations import Produce
from fencepost.spec.vocabulary import NO_PRODUCER, ErrorCode, ProducerId
from fencepost.spec.znodes import TopicPartition

IN_FLIGHT_MAX = 5
"""A broker recognises so many of the last batches of a producer."""
UNJUSTIFIED = frozenset(
    {ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.DUPLICATE_SEQUENCE_NUMBER}
)
"""What no well-behaved producer is answered, unless records were lost."""


@dataclass(slots=True)
class ProducerWindow:
    """One producer: its id, and per partition its epoch and the batches from the first open one."""

    in_flight_max: int = 1
    producer_id: ProducerId = NO_PRODUCER
    _epochs: dict[TopicPartition, int] = field(default_factory=dict)
    _next: dict[TopicPartition, int] = field(default_factory=dict)
    _open: dict[TopicPartition, dict[int, bool]] = field(default_factory=dict)
    """Partition -> base sequence of each batch, ascending, and whether it is acknowledged."""

    def is_full(self, partition: TopicPartition) -> bool:
        """True while one batch more would be too far ahead of the first that is not answered."""
        return len(self._open.get(partition, ())) >= self.in_flight_max

    def number(self, operation: Produce) -> Produce:
        """The batch with the numbers that come next in its partition."""
        base = self._next.get(operation.partition, 0)
        self._next[operation.partition] = base + len(operation.values)
        self._open.setdefault(operation.partition, {})[base] = False
        return replace(
            operation,
            producer_id=self.producer_id,
            producer_epoch=self._epochs.get(operation.partition, 0),
            base_sequence=base,
        )

    def is_current(self, batch: Produce) -> bool:
        """False once the producer has gone on under another epoch there."""
        return batch.producer_epoch == self._epochs.get(batch.partition, 0)

    def is_first(self, batch: Produce) -> bool:
        """True when everything before the batch is acknowledged."""
        earlier = self._open.get(batch.partition, {})
        return all(done for base, done in earlier.items() if base < batch.base_sequence)

    def acknowledged(self, batch: Produce) -> None:
        """The batch is in the log; what is done up to the first open batch is forgotten."""
        if not self.is_current(batch):
            return
        opened = self._open[batch.partition]
        opened[batch.base_sequence] = True
        while opened and opened[next(iter(opened))]:
            del opened[next(iter(opened))]

    def give_up(self, batch: Produce) -> None:
        """Go on under the next epoch of the partition, if the batch is of this one."""
        if self.is_current(batch):
            self._epochs[batch.partition] = batch.producer_epoch + 1
            self._next.pop(batch.partition, None)
            self._open.pop(batch.partition, None)
