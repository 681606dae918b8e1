"""What of Kafka's segments survives a loss of power."""

from pathlib import Path

import pytest

from fencepost.conformance.adapters.kafka.disk.flushed import keep_record
from fencepost.conformance.adapters.kafka.disk.records import old_messages
from fencepost.fault_injection.engine.data_folder import cut, tails

MESSAGES = [old_messages([value]) for value in ("first", "second")]


def folder_with(tmp_path: Path, recovery_point: int | None) -> Path:
    segment = tmp_path / "logs" / "orders-0" / "00000000000000000000.log"
    segment.parent.mkdir(parents=True)
    second = (1).to_bytes(8, "big") + MESSAGES[1][8:]
    segment.write_bytes(MESSAGES[0] + second)
    if recovery_point is not None:
        points = tmp_path / "logs" / "recovery-point-offset-checkpoint"
        points.write_text(f"0\n1\norders 0 {recovery_point}\n")
    return segment


@pytest.mark.parametrize(
    ("recovery_point", "left"),
    [
        pytest.param(None, 0, id="nothing was flushed yet"),
        pytest.param(0, 0, id="flushed when it was empty"),
        pytest.param(1, len(MESSAGES[0]), id="the first record was flushed"),
        pytest.param(2, len(b"".join(MESSAGES)), id="all was flushed"),
    ],
)
def test_what_is_above_the_recovery_point_is_lost(
    recovery_point: int | None, left: int, tmp_path: Path
) -> None:
    segment = folder_with(tmp_path, recovery_point)

    keep_record(tmp_path)
    cut(tails(tmp_path))

    assert segment.stat().st_size == left
