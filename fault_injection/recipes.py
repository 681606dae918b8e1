"""Named compositions of faults that chance alone finds rarely; each is bound to a rule.

A recipe is a schedule like any other: the simulator and the real engine execute it alike.
"""

from collections.abc import Sequence

from fault_injection.faults import (
    CONTROLLER,
    DropRequest,
    ExpireSession,
    HoldRequest,
    KillBroker,
    broker,
    follower,
)
from fault_injection.schedule import Schedule, TimedFault

HELD_MS = 900
SILENT_MS = 1_600
EXPIRES_MS = 350
"""From the decision to the end of the controller that made it."""


def deposed_controller(
    seed: int, *, brokers: Sequence[int], receiver: int, bounced: int, at_ms: int
) -> Schedule:
    """A deposed controller's command arrives late, at a broker its successor has not yet told.

    The controller's commands to `receiver` are held; the session of `bounced` ends, so that the
    controller decides something new; then its own session ends. The successor's commands to
    `receiver` are lost until the held ones are released (CTL-006, CTL-013).
    """
    hold = HoldRequest(
        method="LeaderAndIsr",
        sender=CONTROLLER,
        receiver=broker(receiver),
        count=0,
        for_ms=HELD_MS,
    )
    silences = [
        DropRequest(
            method="LeaderAndIsr",
            sender=broker(sender),
            receiver=broker(receiver),
            count=0,
            for_ms=SILENT_MS,
        )
        for sender in sorted(brokers)
    ]
    faults = [
        TimedFault(fault_id="hold", at_ms=at_ms, fault=hold),
        TimedFault(
            fault_id="decide", at_ms=at_ms + 20, fault=ExpireSession(target=broker(bounced))
        ),
        TimedFault(
            fault_id="depose", at_ms=at_ms + EXPIRES_MS, fault=ExpireSession(target=CONTROLLER)
        ),
        *(
            TimedFault(
                fault_id=f"silence-{number}",
                at_ms=at_ms + EXPIRES_MS,
                fault=silence,
                must_take_effect=False,
            )
            for number, silence in enumerate(silences, start=1)
        ),
    ]
    return Schedule(seed=seed, faults=tuple(faults))


def lonely_leader(seed: int, *, topic: str, followers: int, at_ms: int) -> Schedule:
    """One follower after the other dies and stays dead: the leader is the whole ISR.

    Nobody fetches from it any more, and it must commit what it has all the same (REPL-009).
    """
    faults = [
        TimedFault(
            fault_id=f"kill-{position + 1}",
            at_ms=at_ms + position * SILENT_MS,
            fault=KillBroker(target=follower(topic, 0, position), restart_after_ms=None),
        )
        for position in range(followers)
    ]
    return Schedule(seed=seed, faults=tuple(faults))
