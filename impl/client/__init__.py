"""The client of the reference implementation.

`Producer`, `Consumer` and `Admin` are for asyncio. Times are in milliseconds, offsets start at 0,
and records are text (UTF-8 on the wire). A failed call raises `DefiniteError`, certainly without
effect, or `IndefiniteError`, possibly with effect (CLI-005).
"""

from fencepost.impl.client.admin import Admin, NewTopic
from fencepost.impl.client.consumer import Consumer, ConsumerRecord
from fencepost.impl.client.errors import (
    ClientError,
    DefiniteError,
    IndefiniteError,
    NoBrokerError,
    OffsetOutOfRangeError,
    ThrottledError,
)
from fencepost.impl.client.options import ClientOptions
from fencepost.impl.client.producer import Producer, RecordMetadata
from fencepost.impl.client.routing import Coordinator, Metadata, PartitionInfo, ReassignmentStatus

__all__ = [
    "Admin",
    "ClientError",
    "ClientOptions",
    "Consumer",
    "ConsumerRecord",
    "Coordinator",
    "DefiniteError",
    "IndefiniteError",
    "Metadata",
    "NewTopic",
    "NoBrokerError",
    "OffsetOutOfRangeError",
    "PartitionInfo",
    "Producer",
    "ReassignmentStatus",
    "RecordMetadata",
    "ThrottledError",
]
