"""Where a replay may let records leave its state: at pauses, for what no later event is about.

TLC looks at the whole state in each step. What all logs have in common may go when no event names
an offset of it any more, nor an epoch with a leader that would have to be known. How much goes the
spec decides (`TraceState!ForgetCount`); here is what it cannot know, which is what comes later.
"""

from collections.abc import Sequence
from itertools import accumulate

from fencepost.spec.replay.fields import MISSING, Fields
from fencepost.spec.vocabulary import Action

STRIDE = 512
"""Events from one pause to the next; a shorter run has none."""

OFFSETS = ("offset", "log_end_offset", "high_watermark")
NEVER = 2**31 - 1
"""More than any number of a run; TLC counts no further."""
START = 0


def pauses_of(events: Sequence[Fields], stride: int) -> tuple[Fields, ...]:
    """For each pause the smallest offset, leader epoch and transaction named from there on.

    A transaction is one of the configuration, which its author hears of.

    The n-th pause is before event n * `stride`, counted from 1.
    """
    offsets = _smallest_to_come([_least_offset(event) for event in events])
    epochs = _smallest_to_come([_known(event.get("leader_epoch")) for event in events])
    zxids = _smallest_to_come([_transaction_heard_of(event) for event in events])
    return tuple(
        {"offset": offsets[at], "leader_epoch": epochs[at], "zxid": zxids[at]}
        for at in range(stride - 1, len(events), stride)
    )


def _smallest_to_come(numbers: Sequence[int]) -> list[int]:
    return list(accumulate(reversed(numbers), min))[::-1]


def _least_offset(fields: Fields) -> int:
    """A broker that starts without its log is one at offset 0."""
    if fields["action"] == "NodeStarted" and fields["is_forgetful"]:
        return START
    return min(_known(fields.get(name)) for name in OFFSETS)


def _transaction_heard_of(fields: Fields) -> int:
    return _known(fields["zxid"]) if fields["action"] == Action.APPLY_MUTATION else NEVER


def _known(value: object) -> int:
    return value if isinstance(value, int) and value != MISSING else NEVER
