"""Records and batches of Kafka's metadata log, as a controller writes them."""

import struct
from collections.abc import Sequence
from pathlib import Path

from fencepost.conformance.adapters.kafka.kraft import metadata_records as kinds

TOPIC_ID = bytes(range(16))


def varint(number: int) -> bytes:
    data = b""
    while number >= 128:
        data += bytes([number & 127 | 128])
        number >>= 7
    return data + bytes([number])


def zigzag(number: int) -> bytes:
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


def brokers(*ids: int) -> bytes:
    return varint(len(ids) + 1) + struct.pack(f">{len(ids)}i", *ids)


def record(kind: int, *fields: bytes, **tagged: bytes) -> bytes:
    """`tag_N` is the tagged field N."""
    told = {int(name.removeprefix("tag_")): data for name, data in tagged.items()}
    of_tags = (varint(tag) + varint(len(data)) + data for tag, data in sorted(told.items()))
    return varint(1) + varint(kind) + varint(0) + b"".join((*fields, varint(len(told)), *of_tags))


def topic(name: str, topic_id: bytes = TOPIC_ID) -> bytes:
    return record(kinds.TOPIC, varint(len(name) + 1), name.encode(), topic_id)


def topic_removed(topic_id: bytes = TOPIC_ID) -> bytes:
    return record(kinds.REMOVE_TOPIC, topic_id)


def partition(replicas: Sequence[int], leader: int, topic_id: bytes = TOPIC_ID) -> bytes:
    """Number 0, all replicas in its ISR."""
    return record(
        kinds.PARTITION,
        struct.pack(">i", 0),
        topic_id,
        brokers(*replicas),
        brokers(*replicas),
        brokers(),
        brokers(),
        struct.pack(">iii", leader, 0, 0),
    )


def change(
    *,
    isr: Sequence[int] | None = None,
    leader: int | None = None,
    replicas: Sequence[int] = (),
    eligible: Sequence[int] | None = None,
) -> bytes:
    """Of partition 0; what is not given stays."""
    tagged: dict[str, bytes] = {}
    if isr is not None:
        tagged["tag_0"] = brokers(*isr)
    if leader is not None:
        tagged["tag_1"] = struct.pack(">i", leader)
    if replicas:
        tagged["tag_2"] = brokers(*replicas)
    if eligible is not None:
        tagged["tag_6"] = brokers(*eligible)
    return record(kinds.PARTITION_CHANGE, struct.pack(">i", 0), TOPIC_ID, **tagged)


def fencing(broker_id: int, *, is_fenced: bool) -> bytes:
    told = struct.pack(">b", 1 if is_fenced else -1)
    return record(kinds.BROKER_CHANGE, struct.pack(">iq", broker_id, 7), tag_0=told)


def batch(offset: int, *values: bytes, epoch: int = 1, wall_ms: int = 0, flags: int = 0) -> bytes:
    """The values as one batch; with `flags` 32 it is the quorum's own."""
    records = b""
    for delta, value in enumerate(values):
        body = b"\0" + zigzag(0) + zigzag(delta) + zigzag(-1) + zigzag(len(value)) + value + b"\0"
        records += zigzag(len(body)) + body
    last = len(values) - 1
    head = struct.pack(">iib", epoch, 2, 0)[:4] + b"\x02"
    rest = struct.pack(">IhiqqqhiI", 0, flags, last, wall_ms, wall_ms, -1, -1, -1, len(values))
    after = head + rest + records
    return struct.pack(">qi", offset, len(after)) + after


def write_log(folder: Path, *batches: bytes) -> Path:
    """The metadata folder of a controller with this log."""
    path = folder / "__cluster_metadata-0" / "00000000000000000000.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(batches))
    return folder
