"""A client of the reference implementation, for programs: asyncio, and blocking.

`AsyncProducer`, `AsyncConsumer` and `AsyncAdmin` are the client; `Producer`, `Consumer` and `Admin`
run them for callers without a loop. Every failure is a `DefiniteError`, surely without effect, or
an `IndefiniteError`, perhaps with effect (CLI-005).
"""

from fencepost.impl.client.admin import AsyncAdmin, NewTopic
from fencepost.impl.client.blocking import Admin, Consumer, Producer
from fencepost.impl.client.consumer import AsyncConsumer, ConsumerRecord
from fencepost.impl.client.errors import (
    ClientError,
    DefiniteError,
    IndefiniteError,
    NoBrokerError,
    OffsetOutOfRangeError,
)
from fencepost.impl.client.options import ClientOptions
from fencepost.impl.client.producer import AsyncProducer, RecordMetadata
from fencepost.impl.client.routing import Metadata, PartitionInfo, ReassignmentStatus

__all__ = [
    "Admin",
    "AsyncAdmin",
    "AsyncConsumer",
    "AsyncProducer",
    "ClientError",
    "ClientOptions",
    "Consumer",
    "ConsumerRecord",
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
]
