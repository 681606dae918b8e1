"""A client of the reference implementation, for programs: asyncio, and blocking.

`AsyncProducer`, `AsyncConsumer` and `AsyncAdmin` are the client; `Producer`, `Consumer` and `Admin`
run them for callers without a loop. Every failure is a `DefiniteError`, surely without effect, or
an `IndefiniteError`, perhaps with effect (CLI-005).
"""

from impl.client.admin import AsyncAdmin, NewTopic
from impl.client.blocking import Admin, Consumer, Producer
from impl.client.consumer import AsyncConsumer, ConsumerRecord
from impl.client.errors import (
    ClientError,
    DefiniteError,
    IndefiniteError,
    NoBrokerError,
    OffsetOutOfRangeError,
)
from impl.client.options import ClientOptions
from impl.client.producer import AsyncProducer, RecordMetadata
from impl.client.routing import Metadata, OngoingReassignment, PartitionInfo

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
    "OngoingReassignment",
    "PartitionInfo",
    "Producer",
    "RecordMetadata",
]
