"""Stories that are drawn from a seed: faults at times, with quiet before and after them.

Left out is what may lose a whole log or disk, what takes an ensemble or a certain topic, what is a
schedule of its own (`proc.rolling`), and what waits for a moment that may not come.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from random import Random

from fencepost.fault_injection.faults import network_faults
from fencepost.fault_injection.faults.catalogue import DRAWN_FOR_REAL, KINDS, REAL_KINDS, kind_of
from fencepost.fault_injection.faults.fault import LinkFault
from fencepost.fault_injection.faults.request_faults import RpcFault
from fencepost.fault_injection.faults.targets import FaultError
from fencepost.fault_injection.faults.zookeeper_faults import LoseZooKeeperReplies
from fencepost.fault_injection.stories.fault_draw import FaultDraw
from fencepost.fault_injection.stories.story import Story, StoryAction

WARM_UP = 0.10
"""Share of a drawn story before the first fault."""
QUIET_TAIL = 0.30
"""Share of a drawn story after the last fault has ended."""
BESIDE_EVERY_MS = 1_000
"""A drawn story holds at most one fault that may overlap others per this time."""
TRIES_MAX = 8
"""Faults that are drawn until one is short enough for the time that is left."""
_LEFT_OUT = frozenset(
    {
        "admin.add_partitions",
        "admin.delete_recreate_topic",
        "admin.preferred_leader",
        "admin.reassign",
        "client.crash",
        "disk.corrupt_tail",
        "disk.eio",
        "disk.enospc",
        "disk.lose_unsynced",
        "proc.crash_at",
        "proc.rolling",
        "zk.fail_request",
        "zk.failover",
        "zk.server",
        "zk.version_race",
    }
)
PROFILE_KINDS = tuple(sorted(REAL_KINDS - _LEFT_OUT))
"""What may be drawn for real processes, and a profile may name."""
BETWEEN_BROKERS = frozenset(
    kind.kind for kind in KINDS.values() if kind.fault_class.__module__ == network_faults.__name__
)


def draw_story(
    seed: int,
    *,
    brokers: Sequence[int],
    duration_ms: int,
    session_timeout_ms: int,
    kinds: Iterable[str] = DRAWN_FOR_REAL,
) -> Story:
    """Draw a story from `PROFILE_KINDS`; equal arguments give an equal story.

    Faults on requests may overlap others; else one is active at a time, with some calm between two.
    The first tenth and the last third of `duration_ms` hold no fault. Raises `FaultError` for
    unknown kinds or when nothing fits.
    """
    chosen = sorted(set(kinds))
    _check_request(chosen, brokers, duration_ms)
    draw = FaultDraw(
        random=Random(seed), brokers=tuple(sorted(brokers)), session_timeout_ms=session_timeout_ms
    )
    actions = single_faults(draw, chosen, duration_ms)
    return Story(seed=seed, actions=in_order_of_time(actions))


def single_faults(draw: FaultDraw, kinds: Sequence[str], duration_ms: int) -> Iterator[StoryAction]:
    """Faults of these kinds: those on requests may overlap, of the others one is active."""
    beside = [kind for kind in kinds if issubclass(kind_of(kind).fault_class, RpcFault)]
    yield from _one_by_one(draw, [kind for kind in kinds if kind not in beside], duration_ms)
    yield from overlapping(draw, beside, duration_ms)


def _one_by_one(draw: FaultDraw, kinds: Sequence[str], duration_ms: int) -> Iterator[StoryAction]:
    """Faults one after the other, each followed by some calm."""
    session_ms, to_ms = draw.session_timeout_ms, int(duration_ms * (1 - QUIET_TAIL))
    at_ms = int(duration_ms * WARM_UP) + draw.between(0, session_ms)
    while kinds:
        drawn = (draw.fault(draw.random.choice(kinds)) for _ in range(TRIES_MAX))
        fault = next((one for one in drawn if at_ms + (one.active_ms or 0) <= to_ms), None)
        if fault is None:
            return
        is_luck = isinstance(fault, LinkFault | RpcFault | LoseZooKeeperReplies)
        yield StoryAction.at(action_id="", at_ms=at_ms, fault=fault, must_take_effect=not is_luck)
        at_ms += (fault.active_ms or 0) + draw.between(session_ms // 4, 2 * session_ms)


def overlapping(draw: FaultDraw, kinds: Sequence[str], duration_ms: int) -> Iterator[StoryAction]:
    """Faults at any time; they may overlap, and need have no effect."""
    from_ms, to_ms = int(duration_ms * WARM_UP), int(duration_ms * (1 - QUIET_TAIL))
    most = 1 + (to_ms - from_ms) // BESIDE_EVERY_MS
    for _ in range(draw.between(1, most) if kinds else 0):
        fault = draw.fault(draw.random.choice(kinds))
        latest_ms = to_ms - (fault.active_ms or 0)
        if from_ms <= latest_ms:
            at_ms = draw.between(from_ms, latest_ms)
            yield StoryAction.at(action_id="", at_ms=at_ms, fault=fault, must_take_effect=False)


def in_order_of_time(
    actions: Iterable[StoryAction], name: str = "fault"
) -> tuple[StoryAction, ...]:
    """The actions, numbered by that name."""
    ordered = sorted(actions, key=lambda action: action.at_ms)
    return tuple(
        replace(action, action_id=f"{name}-{number}")
        for number, action in enumerate(ordered, start=1)
    )


def _check_request(kinds: list[str], brokers: Sequence[int], duration_ms: int) -> None:
    unknown = sorted(set(kinds) - set(PROFILE_KINDS))
    if unknown:
        raise FaultError(f"unknown fault {unknown[0]!r}; choose among {', '.join(PROFILE_KINDS)}")
    if not brokers:
        raise FaultError("a story needs brokers to hurt; give at least one broker id")
    if len(brokers) < 2 and BETWEEN_BROKERS.intersection(kinds):
        raise FaultError("some of these faults come between brokers; give at least two")
    if duration_ms < 1:
        raise FaultError(f"duration_ms is {duration_ms}; give 1 or more")
