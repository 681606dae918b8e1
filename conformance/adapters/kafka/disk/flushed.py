"""What a loss of power leaves of Kafka's logs, in the record that faults on disks go by.

Kafka acknowledges what is in the page cache. It flushes a segment when it begins the next one, or
ends in order, and then writes down how far: the recovery point of the partition
(`recovery-point-offset-checkpoint`). All that is above may be lost with the host.
"""

from collections.abc import Iterator
from pathlib import Path

from fencepost.conformance.adapters.kafka.disk.records import read_batches
from fencepost.fault_injection.engine.data_folder import RECORD

LOGS = "logs"
"""Below a broker's data folder: Kafka takes every folder beside its logs for one of them."""
RECOVERY_POINTS = "recovery-point-offset-checkpoint"


def keep_record(data: Path) -> None:
    """Write down how much of each segment survives, for `fault_injection.engine.data_folder`."""
    record = data / RECORD / "synced"
    record.parent.mkdir(parents=True, exist_ok=True)
    lines = (f"{size}\t{path.relative_to(data)}\n" for path, size in flushed(data / LOGS))
    record.write_text("".join(lines), encoding="utf-8")


def flushed(logs: Path) -> Iterator[tuple[Path, int]]:
    """Each segment, and how many of its bytes are flushed."""
    points = offsets_in(logs / RECOVERY_POINTS)
    for segment in sorted(logs.glob("*/*.log")):
        point = points.get(segment.parent.name, 0)
        yield segment, _bytes_below(segment, point)


def offsets_in(checkpoint: Path) -> dict[str, int]:
    """`TOPIC-PARTITION` -> its offset in a checkpoint file of Kafka; empty without the file."""
    if not checkpoint.exists():
        return {}
    rows = (line.split() for line in checkpoint.read_text(encoding="utf-8").splitlines()[2:])
    return {f"{topic}-{number}": int(offset) for topic, number, offset in rows}


def _bytes_below(segment: Path, offset: int) -> int:
    """Where the first batch from `offset` on begins in the segment, or the segment ends."""
    data = segment.read_bytes()
    above = (batch.position for batch in read_batches(data) if batch.base_offset >= offset)
    return next(above, len(data))
