"""The blocks of producer ids in ZooKeeper: no id is in two of them (CLI-005).

A broker claims a block before it gives out ids of it. Two producers with one id have their batches
refused, or taken for copies of each other's; a block that begins before the end of the last one is
the cause.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from fencepost.conformance.checks.ordering import by_zxid
from fencepost.spec.trace import TraceEvent
from fencepost.spec.znodes import (
    PRODUCER_IDS,
    MalformedZnodeError,
    ProducerIdBlockDocument,
    parse_producer_id_block,
)

Claim = tuple[TraceEvent, ProducerIdBlockDocument]


def overlapping_blocks(events: Sequence[TraceEvent]) -> Iterator[tuple[Claim, Claim]]:
    """Each claim that has an id of the one before it, after that one."""
    for before, after in pairwise(_claims(events)):
        if after[1].block_start <= before[1].block_end:
            yield before, after


def _claims(events: Sequence[TraceEvent]) -> Iterator[Claim]:
    """In the order of the transactions; what is no block of this format decides nothing."""
    for event in by_zxid(events):
        if event.path != PRODUCER_IDS:
            continue
        try:
            yield event, parse_producer_id_block((event.data or "").encode())
        except MalformedZnodeError:
            continue
