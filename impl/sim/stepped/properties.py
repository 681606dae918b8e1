"""The properties of `LeaderAndIsr.tla` and `Replication.tla` on an abstract state.

Each is the operator of the same name, so that a property that only the specs have can be judged on
what the core did.
"""

from collections.abc import Callable, Iterable
from itertools import combinations

from fencepost.impl.sim.stepped.spec_state import Abstract, Plain
from fencepost.spec.vocabulary import NO_BROKER

Property = Callable[[Abstract, Abstract], bool]
"""Of the state before and after a step."""


def leader_in_isr(_: Abstract, now: Abstract) -> bool:
    """The leader is a member of the ISR; a partition without leader keeps one."""
    state = now["state"]
    if state is None:
        return True
    return bool(state["isr"]) and state["leader"] in (NO_BROKER, *state["isr"])


def one_leader_per_epoch(_: Abstract, now: Abstract) -> bool:
    """No two brokers lead under one leader epoch."""
    epochs = [r["leader_epoch"] for r in now["replicas"].values() if r["role"] == "leader"]
    return len(epochs) == len(set(epochs))


def one_controller_per_epoch(_: Abstract, now: Abstract) -> bool:
    """No two controllers act under one controller epoch."""
    active = [c for c in now["controllers"].values() if c["status"] == "active"]
    epochs = [controller["controller_epoch"] for controller in active]
    return len(epochs) == len(set(epochs))


def is_clean_of(invariant: str) -> Property:
    """No act of this kind is in the history."""
    return lambda _, now: all(breach["invariant"] != invariant for breach in now["breaches"])


def _acting_leaders(now: Abstract) -> Iterable[str]:
    state = now["state"]
    for broker, replica in now["replicas"].items():
        named = state is not None and state["leader"] == int(broker)
        leads = named and replica["role"] == "leader"
        if leads and state["leader_epoch"] == replica["leader_epoch"]:
            yield broker


def quorum_superset(_: Abstract, now: Abstract) -> bool:
    """The acting leader waits for every broker that could be elected cleanly."""
    return all(
        set(now["state"]["isr"]) <= set(replica["isr"]).union(*replica["pending_isr"])
        for replica in (now["replicas"][broker] for broker in _acting_leaders(now))
    )


def command_reflects_zk(_: Abstract, now: Abstract) -> bool:
    """A command tells what ZooKeeper holds, or held at its version."""
    state = now["state"]
    told = ("leader", "leader_epoch", "isr")
    return all(
        state is not None
        and message["znode_version"] <= state["znode_version"]
        and (
            message["znode_version"] < state["znode_version"]
            or all(message[name] == state[name] for name in told)
        )
        for message in now["messages"]
    )


def _holds(now: Abstract, broker: object, entry: Plain) -> bool:
    records = now["logs"][str(broker)]["records"]
    at: int = entry["offset"]
    return at < len(records) and bool(records[at] == entry["record"])


def durable(history: str) -> Property:
    """Every record of the history is on every member of the ISR."""
    return lambda _, now: all(
        _holds(now, broker, entry) for entry in now[history] for broker in now["state"]["isr"]
    )


def leader_complete(_: Abstract, now: Abstract) -> bool:
    """The acting leader has every committed record."""
    return all(
        _holds(now, broker, entry) for broker in _acting_leaders(now) for entry in now["committed"]
    )


def log_matching(_: Abstract, now: Abstract) -> bool:
    """Two logs agree below the smaller high watermark."""
    for one, other in combinations(now["logs"].values(), 2):
        shared = min(
            one["high_watermark"],
            other["high_watermark"],
            len(one["records"]),
            len(other["records"]),
        )
        if one["records"][:shared] != other["records"][:shared]:
            return False
    return True


def high_watermark_in_log(_: Abstract, now: Abstract) -> bool:
    """No replica claims to have committed more than it has."""
    return all(log["high_watermark"] <= len(log["records"]) for log in now["logs"].values())


def high_watermark_monotonic(before: Abstract, now: Abstract) -> bool:
    """While a broker leads under one epoch, its high watermark does not fall."""
    return all(
        now["logs"][broker]["high_watermark"] >= before["logs"][broker]["high_watermark"]
        for broker, was in before["replicas"].items()
        if was["role"] == now["replicas"][broker]["role"] == "leader"
        and was["leader_epoch"] == now["replicas"][broker]["leader_epoch"]
    )


def commit_unique(_: Abstract, now: Abstract) -> bool:
    """No offset was committed with two records."""
    offsets = [entry["offset"] for entry in now["committed"]]
    return len(offsets) == len(set(offsets))


def not_globally_lost(_: Abstract, now: Abstract) -> bool:
    """Every committed record is on some disk."""
    return all(
        any(_holds(now, broker, entry) for broker in now["logs"]) for entry in now["committed"]
    )


def followers_match_leader(_: Abstract, now: Abstract) -> bool:
    """A follower that fetches has nothing that its leader has not."""
    for broker, replica in now["replicas"].items():
        leader = now["replicas"].get(str(replica["leader"]))
        if replica["role"] != "follower" or leader is None or leader["role"] != "leader":
            continue
        log, leaders = now["logs"][broker], now["logs"][str(replica["leader"])]
        is_led = leader["leader_epoch"] == replica["leader_epoch"] and log["is_truncated"]
        if is_led and log["records"] != leaders["records"][: len(log["records"])]:
            return False
    return True


def epochs_non_decreasing_in_log(_: Abstract, now: Abstract) -> bool:
    """No log has a record of an earlier epoch behind one of a later epoch."""
    logs = ([r["leader_epoch"] for r in log["records"]] for log in now["logs"].values())
    return all(epochs == sorted(epochs) for epochs in logs)


_STATES: dict[str, Property] = {
    "LeaderInIsr": leader_in_isr,
    "OneLeaderPerEpoch": one_leader_per_epoch,
    "OneControllerPerEpoch": one_controller_per_epoch,
    "OnlyAuthorisedWrites": is_clean_of("OnlyAuthorisedWrites"),
    "StaleControllerHarmless": is_clean_of("StaleControllerHarmless"),
    "QuorumSuperset": quorum_superset,
    "CommandReflectsZk": command_reflects_zk,
    "UncleanOnlyIfIsrDead": is_clean_of("UncleanOnlyIfIsrDead"),
}
_LOGS: dict[str, Property] = {
    "CommittedDurable": durable("committed"),
    "AcknowledgedDurable": durable("acknowledged"),
    "LeaderComplete": leader_complete,
    "CommitUnique": commit_unique,
    "NotGloballyLost": not_globally_lost,
    "EpochsNonDecreasingInLog": epochs_non_decreasing_in_log,
    "LogMatching": log_matching,
    "FollowersMatchLeader": followers_match_leader,
    "HighWatermarkInLog": high_watermark_in_log,
    "HighWatermarkMonotonic": high_watermark_monotonic,
}


def violated(before: Abstract, now: Abstract) -> frozenset[str]:
    """The properties that do not hold in `now`, or on the step that led there."""
    judged = _STATES | (_LOGS if "logs" in now else {})
    return frozenset(name for name, holds in judged.items() if not holds(before, now))
