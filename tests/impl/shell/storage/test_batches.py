"""A batch on disk: what is written is read, and nothing else is ever taken for a batch."""

import pytest
from hypothesis import given, strategies as st

from fencepost.impl.core.types.messages import Record
from fencepost.impl.shell.storage.batches import (
    HEADER_BYTES,
    batches_in,
    encode_batches,
    parse_batch,
)
from fencepost.spec.vocabulary import NO_PRODUCER, LeaderEpoch, Offset, ProducerId
from tests.impl.shell.log_folders import produced

RECORDS = st.lists(
    st.builds(
        Record,
        leader_epoch=st.integers(0, 2).map(LeaderEpoch),
        value=st.text(max_size=20),
        producer_id=st.sampled_from([NO_PRODUCER, ProducerId(2**40)]),
    )
    | st.integers(1, 3).map(lambda count: produced(7, 2, count)),
    min_size=1,
    max_size=8,
).map(lambda found: [one for part in found for one in (part if isinstance(part, list) else [part])])
"""Of nobody, and of producers: whole produces and others."""


def encoded(base: int, *records: Record) -> bytes:
    return b"".join([batch.data for batch in encode_batches(Offset(base), records)])


@given(base=st.integers(0, 2**62), records=RECORDS, noise=st.binary(max_size=60))
def test_what_was_written_is_read(base: int, records: list[Record], noise: bytes) -> None:
    found = list(batches_in(encoded(base, *records) + noise, Offset(base)))

    assert [r for b in found for r in b.records(b.base_offset, b.end_offset)] == records
    assert [batch.base_offset for batch in found[1:]] == [b.end_offset for b in found[:-1]]


@given(records=RECORDS, data=st.data())
def test_a_part_of_a_batch_can_be_asked_for(records: list[Record], data: st.DataObject) -> None:
    whole = [Record(LeaderEpoch(1), record.value) for record in records]
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, len(whole)))
    batch = parse_batch(encoded(5, *whole), 0)

    assert batch is not None
    assert batch.records(Offset(5 + start), Offset(5 + end)) == whole[start:end]


@pytest.mark.parametrize("epochs", [(0,), (1, 1, 2)])
def test_any_flipped_bit_and_any_cut_is_found(epochs: tuple[int, ...]) -> None:
    text = encoded(7, *(Record(LeaderEpoch(epoch), "value") for epoch in epochs))
    first = parse_batch(text, 0)
    assert first is not None
    end = first.end

    for position in range(end):
        for bit in range(8):
            flipped = bytearray(text)
            flipped[position] ^= 1 << bit
            assert parse_batch(bytes(flipped), 0) is None, (position, bit)
    for cut in range(end):
        assert parse_batch(text[:cut], 0) is None


def test_a_sound_batch_in_another_place_ends_the_log_there() -> None:
    one, other = Record(LeaderEpoch(0), "one"), Record(LeaderEpoch(0), "other")
    text = encoded(0, one) + encoded(2, other)

    assert [batch.base_offset for batch in batches_in(text, Offset(0))] == [0]


def test_zeros_are_no_batch() -> None:
    assert parse_batch(bytes(4 * HEADER_BYTES), 0) is None
