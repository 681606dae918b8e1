"""Named compositions of faults that chance alone finds rarely; each is bound to a rule.

A recipe is a schedule like any other: the simulator and the real engine execute it alike.
"""

from collections.abc import Sequence

from fencepost.fault_injection.faults.process_faults import KillBroker
from fencepost.fault_injection.faults.request_faults import DropRequest, HoldRequest, RpcMethod
from fencepost.fault_injection.faults.targets import CONTROLLER, Target, broker, follower, leader
from fencepost.fault_injection.faults.zookeeper_faults import ExpireSession
from fencepost.fault_injection.stories.story import Story, StoryAction

FOLLOWER_REQUESTS: tuple[RpcMethod, ...] = ("Fetch", "OffsetForLeaderEpoch")
HELD_MS = 900
SILENT_MS = 1_600
LAGS_MS = 1_500
"""So long a follower gets nothing; short of what drives it out of the ISR."""
LEADS_MS = 1_400
"""From the end of the session of a dead leader to the death of the next."""
EXPIRES_MS = 350
"""From the decision to the end of the controller that made it."""


def deposed_controller(
    seed: int, *, brokers: Sequence[int], receiver: int, bounced: int, at_ms: int
) -> Story:
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
        StoryAction.at(action_id="hold", at_ms=at_ms, fault=hold),
        StoryAction.at(
            action_id="decide", at_ms=at_ms + 20, fault=ExpireSession(target=broker(bounced))
        ),
        StoryAction.at(
            action_id="depose", at_ms=at_ms + EXPIRES_MS, fault=ExpireSession(target=CONTROLLER)
        ),
        *(
            StoryAction.at(
                action_id=f"silence-{number}",
                at_ms=at_ms + EXPIRES_MS,
                fault=silence,
                must_take_effect=False,
            )
            for number, silence in enumerate(silences, start=1)
        ),
    ]
    return Story(seed=seed, actions=tuple(faults))


def lonely_leader(seed: int, *, topic: str, followers: int, at_ms: int) -> Story:
    """One follower after the other dies and stays dead: the leader is the whole ISR.

    No follower fetches from it any more, and it must commit what it has (REPL-009).
    """
    faults = [
        StoryAction.at(
            action_id=f"kill-{position + 1}",
            at_ms=at_ms + position * SILENT_MS,
            fault=KillBroker(target=follower(topic, 0, position), restart_after_ms=None),
        )
        for position in range(followers)
    ]
    return Story(seed=seed, actions=tuple(faults))


def diverging_logs(seed: int, *, topic: str, session_timeout_ms: int, at_ms: int) -> Story:
    """The logs of two followers part over two epochs, of which neither knows the other's.

    The first follower is cut off from the leader; the session of the second ends, so that the
    leader goes on under a new epoch, of which the first gets no record. The leader dies; the first
    follower leads and takes records that the second, cut off from it in turn, does not get. It dies
    while the second is still in the ISR: that leads. The first one, back again, must give up all of
    its last epoch and not only what is beyond its leader's (CMD-005, KIP-279).
    """
    first, second = follower(topic, 0, 0), follower(topic, 0, 1)
    dies = KillBroker(target=leader(topic), restart_after_ms=None)
    leads_ms = session_timeout_ms + LEADS_MS
    faults = [
        *_cut_off("lag", first, leader(topic), at_ms=at_ms, for_ms=LAGS_MS),
        StoryAction.at(action_id="bounce", at_ms=at_ms + 20, fault=ExpireSession(target=second)),
        *_cut_off("cut-off", second, first, at_ms=at_ms + LAGS_MS, for_ms=leads_ms),
        StoryAction.at(action_id="kill-1", at_ms=at_ms + LAGS_MS, fault=dies),
        StoryAction.at(action_id="kill-2", at_ms=at_ms + LAGS_MS + leads_ms, fault=dies),
    ]
    return Story(seed=seed, actions=tuple(faults))


def _cut_off(
    name: str, sender: Target, receiver: Target, *, at_ms: int, for_ms: int
) -> list[StoryAction]:
    """A follower gets nothing from its leader; commands of a controller still pass."""
    return [
        StoryAction.at(
            action_id=f"{name}-{number}",
            at_ms=at_ms,
            fault=DropRequest(
                method=method, sender=sender, receiver=receiver, count=0, for_ms=for_ms
            ),
            must_take_effect=False,
        )
        for number, method in enumerate(FOLLOWER_REQUESTS, start=1)
    ]
