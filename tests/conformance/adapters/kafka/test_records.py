"""The record formats of Kafka, by bytes that releases have written and by our own."""

from pathlib import Path

import pytest

from fencepost.conformance.adapters.kafka.disk.records import (
    new_batch,
    old_messages,
    read_batches,
    read_segments,
)

VALUES = ("client-1/1/1", "", "zwölf")
HEAD = bytes.fromhex("0000000000000005")


def test_a_batch_of_ours_is_read_again() -> None:
    (batch,) = read_batches(new_batch(VALUES))

    assert (batch.base_offset, batch.leader_epoch, batch.values) == (0, 0, VALUES)


def test_messages_of_the_old_format_have_no_epoch() -> None:
    found = list(read_batches(old_messages(VALUES)))

    assert [batch.values for batch in found] == [(value,) for value in VALUES]
    assert [batch.base_offset for batch in found] == [0, 1, 2]
    assert {batch.leader_epoch for batch in found} == {None}


@pytest.mark.parametrize("cut", [1, 12, 40])
def test_a_batch_without_its_end_is_left_out(cut: int) -> None:
    whole = new_batch(["first"])
    (batch,) = read_batches(whole + new_batch(["second"])[:-cut])

    assert batch.values == ("first",)


def test_offset_and_epoch_are_those_that_the_leader_gave() -> None:
    data = bytearray(new_batch(["value"]))
    data[:8] = HEAD
    data[12:16] = (3).to_bytes(4, "big")

    (batch,) = read_batches(bytes(data))

    assert (batch.base_offset, batch.leader_epoch, batch.values) == (5, 3, ("value",))


def test_compressed_and_control_batches_have_no_values() -> None:
    for attributes in (1, 32):
        data = bytearray(new_batch(["value"]))
        data[21:23] = attributes.to_bytes(2, "big")
        (batch,) = read_batches(bytes(data))
        assert batch.values == ()


def test_segments_are_read_oldest_first(tmp_path: Path) -> None:
    (tmp_path / "00000000000000000001.log").write_bytes(new_batch(["later"]))
    (tmp_path / "00000000000000000000.log").write_bytes(new_batch(["first"]))

    assert [batch.values for batch in read_segments(tmp_path)] == [("first",), ("later",)]
