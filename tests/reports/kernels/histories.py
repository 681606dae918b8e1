"""One good history with a failover, and edits that each break it at one place."""

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Outcome
from tests.reports.stories import MILLISECOND, TOPIC, failover_story

History = list[TraceEvent]
Edit = Callable[[History], History]
NUMBERS = ("offset", "high_watermark", "log_end_offset", "leader_epoch", "broker_id", "mono_ns",
           "inv_ns", "incarnation", "op_id", "acks", "seq", "partition_incarnation")  # fmt: skip
Change = tuple[int, str, int]
"""Of the line at a place, a number, by so much."""


def places_of(history: History) -> list[int]:
    """Where lines about topics are."""
    return [at for at, event in enumerate(history) if event.topic is not None]


def changes_of(history: History, most: int) -> st.SearchStrategy[list[Change]]:
    """One change or some, by little or by far."""
    by = st.sampled_from([-1, 1, 2, -2_000_000, 2_000_000])
    one = st.tuples(st.sampled_from(places_of(history)), st.sampled_from(NUMBERS), by)
    return st.lists(one, min_size=1, max_size=most)


def changed(history: History, changes: list[Change]) -> History:
    """The history with these numbers; one that was not told is told."""
    found = list(history)
    for at, name, by in changes:
        before = getattr(found[at], name)
        found[at] = replace(found[at], **{name: by if before is None else before + by})
    return found


def good_history() -> History:
    """A failover with reads before and after it, two of one leader one after the other."""
    story = failover_story("r")
    appends = [event for event in story.events if event.action == "LeaderAppend"]
    records = [value for event in appends for value in event.values or ()]
    told: list[tuple[str, int, int, int, dict[str, Any]]] = [
        ("client-2", 5040, 1, 0, {"offset": 0, "values": records[:2], "record_epochs": [0, 0]}),
        ("client-2", 5050, 1, 0, {"offset": 2, "values": []}),
        ("client-2", 6670, 2, 1, {"offset": 1, "values": records[1:4]}),
        ("client-3", 6672, 2, 1, {"offset": 4, "values": []}),
    ]
    length = {0: 2, 1: 4}
    for op_id, (client, at_ms, broker_id, epoch, fields) in enumerate(told, start=900):
        read = {"topic": TOPIC, "partition": 0, "op_id": op_id, "offset": fields["offset"]}
        asked = story.emit(client, Kind.INVOKE, "Fetch", **read)
        answer = {**read, **fields, "outcome": Outcome.OK, "inv_ns": at_ms * MILLISECOND}
        answer |= {"broker_id": broker_id, "leader_epoch": epoch}
        answer |= {"high_watermark": length[epoch], "log_end_offset": length[epoch]}
        ended = story.emit(client, Kind.COMPLETE, "Fetch", **answer)
        at_ns = at_ms * MILLISECOND
        story.events[-2:] = [
            replace(asked, mono_ns=at_ns),
            replace(ended, mono_ns=at_ns + MILLISECOND),
        ]
    return [replace(e, producer_id=None) if e.action == "Produce" else e for e in story.events]


def change(number: int, action: str, kind: Kind = Kind.ACTION, /, **fields: object) -> Edit:
    """An edit that changes these fields of one of the lines with this action, counted from 0."""

    def edit(history: History) -> History:
        at = _places(history, action, kind)[number]
        return [*history[:at], replace(history[at], **fields), *history[at + 1 :]]

    return edit


def without(number: int, action: str, kind: Kind = Kind.ACTION) -> Edit:
    """An edit that drops one of the lines with this action."""

    def edit(history: History) -> History:
        at = _places(history, action, kind)[number]
        return [*history[:at], *history[at + 1 :]]

    return edit


def both(first: Edit, second: Edit) -> Edit:
    """One edit after the other."""
    return lambda history: second(first(history))


def numbered(history: History) -> History:
    """The writes as those of an idempotent producer."""
    return [replace(e, producer_id=7) if e.action == "Produce" else e for e in history]


def _places(history: History, action: str, kind: Kind) -> list[int]:
    return [at for at, e in enumerate(history) if (e.action, e.kind) == (action, kind)]


EDITS: Mapping[str, Edit] = {
    "nothing": list,
    "acknowledged twice": change(1, "Produce", Kind.COMPLETE, offset=0),
    "acknowledged nowhere": change(0, "Produce", Kind.COMPLETE, offset=-1),
    "acknowledged beyond": change(3, "Produce", Kind.COMPLETE, offset=7),
    "acknowledged by another": change(3, "Produce", Kind.COMPLETE, broker_id=3),
    "refused, and read": change(0, "Produce", Kind.COMPLETE, outcome=Outcome.DEFINITE_ERROR),
    "indefinite, and read": change(0, "Produce", Kind.COMPLETE, outcome=Outcome.INDEFINITE),
    "sent twice": change(1, "Produce", Kind.COMPLETE, values=["client-1/0/1"]),
    "asked twice": change(1, "Produce", Kind.INVOKE, values=["client-1/0/1"], op_id=77),
    "read twice": change(0, "Fetch", Kind.COMPLETE, values=["client-1/0/1", "client-1/0/1"]),
    "read by one as another": change(
        1, "Fetch", Kind.COMPLETE, values=["client-1/1/1"], high_watermark=5, log_end_offset=5
    ),
    "never written": change(
        0, "Fetch", Kind.COMPLETE, values=["client-1/0/1", "client-1/1/1", "x", "y"]
    ),
    "above its high watermark": change(0, "Fetch", Kind.COMPLETE, high_watermark=1),
    "high watermark above the log end": change(1, "Fetch", Kind.COMPLETE, log_end_offset=1),
    "stale empty read": change(4, "Fetch", Kind.COMPLETE, offset=3, high_watermark=-1),
    "stale high watermark": change(4, "Fetch", Kind.COMPLETE, high_watermark=3, log_end_offset=3),
    "a staler high watermark": change(
        4, "Fetch", Kind.COMPLETE, high_watermark=2, log_end_offset=2
    ),
    "hole below a proven length": change(
        2, "Fetch", Kind.COMPLETE, values=[], high_watermark=9, log_end_offset=9
    ),
    "no final read": change(0, "Fetch", Kind.COMPLETE, values=["client-1/0/1"]),
    "short final read": change(
        0, "Fetch", Kind.COMPLETE, values=["client-1/0/1"], high_watermark=1, log_end_offset=1
    ),
    "read from the future": change(1, "Fetch", Kind.COMPLETE, mono_ns=5 * MILLISECOND, inv_ns=1),
    "another record in one log": change(1, "FollowerAppend", values=["client-9/9/9"]),
    "another epoch in one log": change(1, "FollowerAppend", record_epochs=[7]),
    "a gap in a log": change(4, "FollowerAppend", offset=5),
    "a log that shrinks": change(1, "AdvanceHighWatermark", log_end_offset=1, high_watermark=1),
    "a leader that lacks a record": change(1, "BecomeLeader", log_end_offset=1, high_watermark=1),
    "a leader of an older epoch": change(1, "BecomeLeader", leader_epoch=-1),
    "an advance above the log end": change(3, "AdvanceHighWatermark", high_watermark=5),
    "an advance twice": change(1, "AdvanceHighWatermark", high_watermark=1),
    "an advance that falls": change(4, "AdvanceHighWatermark", high_watermark=2),
    "an advance in a later epoch": change(0, "AdvanceHighWatermark", leader_epoch=1),
    "an append that falls": change(3, "LeaderAppend", high_watermark=1),
    "an advance for too few": change(3, "AdvanceHighWatermark", maximal_isr=[2]),
    "an advance under another ISR": change(3, "AdvanceHighWatermark", isr=[3], maximal_isr=[3]),
    "an advance without an ISR": change(3, "AdvanceHighWatermark", isr=None, maximal_isr=None),
    "a follower's line without an advance": without(2, "AdvanceHighWatermark"),
    "a truncation of nothing": change(1, "BecomeFollower", action="TruncateLog", offset=2),
    "a truncation below what is known": change(
        4, "FollowerAppend", action="TruncateLog", values=None, record_epochs=None, log_end_offset=1
    ),
    "an append in another epoch": change(2, "LeaderAppend", leader_epoch=7),
    "an advance of a follower": without(1, "BecomeLeader"),
    "a small ISR": change(1, "BecomeLeader", isr=[2]),
    "acks of 1": change(3, "Produce", Kind.COMPLETE, acks=1),
    "numbers": numbered,
    "a number left out": both(
        numbered,
        both(
            change(1, "Produce", Kind.INVOKE, base_sequence=5),
            change(1, "Produce", Kind.COMPLETE, base_sequence=5),
        ),
    ),
    "a number told in two ways": both(
        numbered, change(1, "Produce", Kind.COMPLETE, base_sequence=5)
    ),
    "a batch cut off": both(
        numbered, change(3, "Produce", Kind.COMPLETE, values=["client-1/3/1", "client-1/4/1"])
    ),
    "a batch in two appends": both(
        numbered,
        both(
            change(2, "Produce", Kind.COMPLETE, values=["client-1/2/1", "client-1/3/1"]),
            both(without(3, "Produce", Kind.COMPLETE), without(3, "Produce", Kind.INVOKE)),
        ),
    ),
    "a refusal for a number": both(
        numbered,
        change(
            2,
            "Fetch",
            Kind.COMPLETE,
            action="Produce",
            values=["x"],
            offset=None,
            acks=-1,
            outcome=Outcome.DEFINITE_ERROR,
            error_code="OUT_OF_ORDER_SEQUENCE_NUMBER",
            producer_id=7,
            producer_epoch=0,
            base_sequence=2,
        ),
    ),
    "another incarnation": change(3, "Produce", Kind.COMPLETE, partition_incarnation=77),
    "an unclean election": change(0, "ElectLeader", is_unclean=True),
    "an unclean election, and a record lost": both(
        change(0, "ElectLeader", is_unclean=True),
        change(1, "BecomeLeader", log_end_offset=1, high_watermark=1),
    ),
    "an answer that was not asked for": both(
        change(3, "Produce", Kind.INVOKE, op_id=77), without(3, "Produce", Kind.COMPLETE)
    ),
    "a hole that nothing fills": both(
        change(2, "Produce", Kind.COMPLETE, outcome=Outcome.DEFINITE_ERROR),
        both(
            change(0, "Fetch", Kind.COMPLETE, values=["client-1/0/1", "client-1/1/1"]),
            change(3, "Fetch", Kind.COMPLETE, values=["client-1/1/1"]),
        ),
    ),
    "a follower that is two nodes": change(4, "FollowerAppend", node="broker-7"),
    "a log that begins late": change(0, "BecomeFollower", log_end_offset=1, high_watermark=1),
}
