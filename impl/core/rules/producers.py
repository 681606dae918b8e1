"""Idempotent producers: what a log knows of them, and what a produce is to it (KIP-98, CLI-005).

A producer numbers its records in each partition and gives a retry the numbers of the first try. The
state is a function of the log alone, so that every replica that has the records can lead. Records
of one batch are in a log all or not at all: else a retry would be half a duplicate.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from fencepost.impl.core.types.messages import ProduceRequest, Record
from fencepost.spec.vocabulary import NO_PRODUCER, ErrorCode, LeaderEpoch, Offset, ProducerId

BATCHES_KEPT = 6
"""Per producer and partition: the five that it may have in flight, as in Kafka, and the one before
them, by which what comes next is known when all five are cut off."""
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
"""Comes before any: no batch of an epoch is known that began so."""


class Batch(Struct, frozen=True, kw_only=True):
    """The records of one produce: offsets and sequences are dense from their base on."""

    producer_epoch: int
    base_sequence: int
    base_offset: Offset
    count: int

    @property
    def end_sequence(self) -> int:
        """The sequence that comes next."""
        return self.base_sequence + self.count

    @property
    def end_offset(self) -> Offset:
        """The offset after the last record."""
        return Offset(self.base_offset + self.count)


class ProducerState(Struct, frozen=True, kw_only=True):
    """The last batches of one producer in one log, in order of offset."""

    batches: tuple[Batch, ...] = ()
    forgotten_epoch: int = NO_PRODUCER_EPOCH
    """The largest producer epoch of which older batches are in the log, but not here."""


UNKNOWN_PRODUCER = ProducerState()


class ProducerTable:
    """Producer -> state, for one log. A log without idempotent producers costs nothing."""

    __slots__ = ("_states",)

    def __init__(self, states: Mapping[ProducerId, ProducerState] | None = None) -> None:
        self._states = dict(states or {})

    def __getitem__(self, producer_id: ProducerId) -> ProducerState:
        return self._states.get(producer_id, UNKNOWN_PRODUCER)

    @property
    def states(self) -> Mapping[ProducerId, ProducerState]:
        """All that is known, by producer."""
        return self._states

    def append(self, base_offset: Offset, records: Iterable[Record]) -> None:
        """The log has `records` from `base_offset` on."""
        for producer_id, batch in batches_of(base_offset, records):
            self.note(producer_id, batch)

    def note(self, producer_id: ProducerId, batch: Batch) -> None:
        """The log has `batch` behind all that is known."""
        self._states[producer_id] = note_batch(self[producer_id], batch)

    def put(self, producer_id: ProducerId, state: ProducerState) -> None:
        """The log says this of the producer."""
        self._states[producer_id] = state

    def truncate(self, offset: Offset) -> None:
        """The log ends at `offset`; what lay behind it is not known any more."""
        left = {key: forget_from(state, offset) for key, state in self._states.items()}
        self._states = {key: state for key, state in left.items() if state != UNKNOWN_PRODUCER}


def batches_of(
    base_offset: Offset, records: Iterable[Record]
) -> Iterator[tuple[ProducerId, Batch]]:
    """The idempotent batches among the records of a log, in order."""
    first: Record | None = None
    count = 0
    for end_offset, record in enumerate(records, start=base_offset + 1):
        if record.producer_id == NO_PRODUCER:
            continue
        first, count = first or record, count + 1
        if record.batch_left:
            continue
        batch = Batch(
            producer_epoch=first.producer_epoch,
            base_sequence=first.sequence,
            base_offset=Offset(end_offset - count),
            count=count,
        )
        yield first.producer_id, batch
        first, count = None, 0


def note_batch(state: ProducerState, batch: Batch) -> ProducerState:
    """The state after `batch` was appended; the oldest batch is forgotten when there are many."""
    batches = (*state.batches, batch)
    if len(batches) <= BATCHES_KEPT:
        return replace(state, batches=batches)
    return ProducerState(batches=batches[1:], forgotten_epoch=batches[0].producer_epoch)


def forget_from(state: ProducerState, offset: Offset) -> ProducerState:
    """The state when the log is cut at `offset`."""
    kept = tuple(batch for batch in state.batches if batch.end_offset <= offset)
    return replace(state, batches=kept)


def find_duplicate(state: ProducerState, request: ProduceRequest) -> Batch | None:
    """The batch of the log that an earlier try of `request` appended."""
    sought = (request.producer_epoch, request.base_sequence, len(request.values))
    for batch in state.batches:
        if (batch.producer_epoch, batch.base_sequence, batch.count) == sought:
            return batch
    return None


def sequence_error(state: ProducerState, request: ProduceRequest) -> ErrorCode:
    """Why `request`, which is no duplicate, must not be appended; NONE when it comes next.

    Stricter than Kafka, which takes any first sequence of a producer that it does not know: here
    nothing but truncation makes a log forget, and then records are missing.
    """
    base = request.base_sequence
    last_epoch, end = known_end(state)
    if request.producer_epoch < last_epoch:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if request.producer_epoch > last_epoch:
        end = 0
    if base == end:
        return ErrorCode.NONE
    if base + len(request.values) <= end:
        return ErrorCode.DUPLICATE_SEQUENCE_NUMBER
    return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def known_end(state: ProducerState) -> tuple[int, int]:
    """The producer's last epoch in the log, and the sequence that comes next under it."""
    if not state.batches:
        return state.forgotten_epoch, NO_SEQUENCE
    last = state.batches[-1]
    return last.producer_epoch, last.end_sequence


def batch_records(request: ProduceRequest, leader_epoch: LeaderEpoch) -> tuple[Record, ...]:
    """The records that a leader appends for `request`."""
    if request.producer_id == NO_PRODUCER:
        return tuple(Record(leader_epoch, value) for value in request.values)
    last = len(request.values) - 1
    return tuple(
        Record(
            leader_epoch,
            value,
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
            sequence=request.base_sequence + position,
            batch_left=last - position,
        )
        for position, value in enumerate(request.values)
    )


def whole_batches(records: tuple[Record, ...]) -> tuple[Record, ...]:
    """The records without the begun batch at their end, if there is one."""
    end = len(records)
    while end and records[end - 1].batch_left:
        end -= 1
    return records[:end]
