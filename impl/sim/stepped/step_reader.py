"""Reads an action, its actor and its parameters out of two successive states of a spec.

Each reader looks for the effect of one action, and an effect belongs to one action only.
"""

from collections.abc import Callable

from fencepost.impl.sim.stepped.spec_state import Abstract, Plain
from fencepost.spec.vocabulary import Action, EnvironmentAction

Found = tuple[int, dict[str, Plain]]
"""The actor and the parameters."""

Reader = Callable[[Abstract, Abstract], Found | None]

NOBODY = 0


class UnknownStepError(ValueError):
    """Two states between which no known action lies."""


def read_step(before: Abstract, after: Abstract) -> tuple[str, int, dict[str, Plain]]:
    """The action, its actor and its parameters; raises `UnknownStepError`."""
    for name, reader in _READERS.items():
        found = reader(before, after)
        if found is not None:
            return name, *found
    raise UnknownStepError("no known action leads from one state to the next")


def _changed(variable: str, before: Abstract, after: Abstract) -> list[tuple[int, Plain, Plain]]:
    """(number, before, after) of each broker or controller with a different part."""
    return [
        (int(key), before[variable][key], after[variable][key])
        for key in before.get(variable, {})
        if before[variable][key] != after[variable][key]
    ]


def _new(variable: str, before: Abstract, after: Abstract) -> list[Plain]:
    return [item for item in after.get(variable, []) if item not in before[variable]]


def _gone(variable: str, before: Abstract, after: Abstract) -> list[Plain]:
    return [item for item in before.get(variable, []) if item not in after[variable]]


def _spent(what: str, before: Abstract, after: Abstract) -> bool:
    return bool(before["budget"].get(what, 0) != after["budget"].get(what, 0))


# Brokers


def _register_broker(before: Abstract, after: Abstract) -> Found | None:
    arrived = set(after["registered"]) - set(before["registered"])
    return (min(arrived), {}) if arrived else None


def _create_topic(before: Abstract, after: Abstract) -> Found | None:
    return (NOBODY, {}) if after["topic"] and not before["topic"] else None


def _crash_broker(before: Abstract, after: Abstract) -> Found | None:
    for broker, _, now in _changed("replicas", before, after):
        if now["role"] == "down":
            return broker, {}
    return None


def _restart_broker(before: Abstract, after: Abstract) -> Found | None:
    for broker, was, now in _changed("replicas", before, after):
        if was["role"] == "down" and now["role"] == "starting":
            logs = after.get("logs", {}).get(str(broker), {})
            return broker, {"checkpoint": logs.get("high_watermark", 0)}
    return None


def _expire_session(before: Abstract, after: Abstract) -> Found | None:
    gone = set(before["registered"]) - set(after["registered"])
    if gone:
        return min(gone), {}
    if before["controller"] and not after["controller"]:
        return before["controller"], {}
    return None


def _learn_controller(before: Abstract, after: Abstract) -> Found | None:
    for broker, was, now in _changed("replicas", before, after):
        same = was["leader_epoch"] == now["leader_epoch"] and was["role"] == now["role"]
        if same and was["controller_epoch"] != now["controller_epoch"]:
            return broker, {}
    return None


# Controllers


def _elect_controller(before: Abstract, after: Abstract) -> Found | None:
    for controller, was, now in _changed("controllers", before, after):
        if was["status"] != now["status"] and now["status"] in ("active", "created"):
            return controller, {"status": now["status"], "tells": bool(now["to_send"])}
    return None


def _resign_controller(before: Abstract, after: Abstract) -> Found | None:
    for controller, _, now in _changed("controllers", before, after):
        if now["status"] == "standing":
            return controller, {}
    return None


def _detect_broker_change(before: Abstract, after: Abstract) -> Found | None:
    for controller, was, now in _changed("controllers", before, after):
        if was["status"] == now["status"] and was["live_brokers"] != now["live_brokers"]:
            arrived = set(now["live_brokers"]) - set(was["live_brokers"])
            return controller, {"tells": bool(arrived and now["to_send"])}
    return None


def _decide(*, is_first: bool) -> Reader:
    def read(before: Abstract, after: Abstract) -> Found | None:
        if _spent("elections", before, after) == is_first:
            return None
        for controller, was, now in _changed("controllers", before, after):
            if now["decision"] and not was["decision"]:
                state = now["decision"][0]["state"]
                return controller, {"leader": state["leader"], "isr": state["isr"]}
        return None

    return read


def _publish_decision(before: Abstract, after: Abstract) -> Found | None:
    for controller, was, now in _changed("controllers", before, after):
        if was["decision"] and not now["decision"] and now["status"] != "standing":
            decision, tells = was["decision"][0], now["to_send"]
            version = decision["expected_version"] + 1
            mine = {"state": decision["state"], "znode_version": version}
            is_published = tells == [mine]
            return controller, {"is_published": is_published, "tells": bool(tells)}
    return None


def _send_leader_and_isr(before: Abstract, after: Abstract) -> Found | None:
    for controller, was, now in _changed("controllers", before, after):
        if was["to_send"] and not now["to_send"] and now["status"] != "standing":
            return controller, {**was["to_send"][0], "controller_epoch": was["controller_epoch"]}
    return None


# Commands and the ISR


def _become(*, is_leader: bool) -> Reader:
    def read(before: Abstract, after: Abstract) -> Found | None:
        for message in _gone("messages", before, after):
            if _spent("losses", before, after):
                return None
            if (message["leader"] == message["to"]) == is_leader:
                return message["to"], {"message": message}
        return None

    return read


def _ask_isr(*, grows: bool) -> Reader:
    def read(before: Abstract, after: Abstract) -> Found | None:
        for broker, was, now in _changed("replicas", before, after):
            if now["pending_isr"] not in ([], was["pending_isr"]):
                wanted, isr = set(now["pending_isr"][0]), set(now["isr"])
                if (wanted > isr) == grows:
                    return broker, {"member": min(wanted ^ isr)}
        return None

    return read


def _isr_write_ended(role: str, *, is_fencing: bool) -> Reader:
    def read(before: Abstract, after: Abstract) -> Found | None:
        for broker, was, now in _changed("replicas", before, after):
            if was["pending_isr"] and not now["pending_isr"] and now["role"] == role:
                same_version = was["znode_version"] == now["znode_version"]
                if same_version == is_fencing and was["leader_epoch"] == now["leader_epoch"]:
                    return broker, {}
        return None

    return read


def _fence_leader(before: Abstract, after: Abstract) -> Found | None:
    fenced = _isr_write_ended("fenced", is_fencing=True)(before, after)
    return fenced or _isr_write_ended("leader", is_fencing=True)(before, after)


def _lose_reply(before: Abstract, after: Abstract) -> Found | None:
    for variable in ("replicas", "controllers"):
        for number, was, now in _changed(variable, before, after):
            if now["is_reply_lost"] and not was["is_reply_lost"]:
                return number, {"is_controller": variable == "controllers"}
    return None


# Records


def _truncate_log(before: Abstract, after: Abstract) -> Found | None:
    for broker, was, now in _changed("logs", before, after):
        if now["is_truncated"] and not was["is_truncated"]:
            return broker, {}
    return None


def _leader_append(before: Abstract, after: Abstract) -> Found | None:
    if not _spent("records", before, after):
        return None
    for broker, was, now in _changed("logs", before, after):
        if len(now["records"]) > len(was["records"]):
            return broker, {"value": now["records"][-1]["value"]}
    return None


def _serve_fetch(before: Abstract, after: Abstract) -> Found | None:
    for answer in _new("fetches", before, after):
        if answer["copy"] == 1:
            return answer["from"], {"follower": answer["to"]}
    for leader, was, now in _changed("logs", before, after):
        for follower, end_offset in now["end_offsets"].items():
            if end_offset != was["end_offsets"][follower] and end_offset >= 0:
                return leader, {"follower": int(follower)}
    return None


def _follower_append(before: Abstract, after: Abstract) -> Found | None:
    for answer in _gone("fetches", before, after):
        if not _spent("losses", before, after):
            return answer["to"], {"answer": answer}
    return None


def _advance_high_watermark(before: Abstract, after: Abstract) -> Found | None:
    for broker, was, now in _changed("logs", before, after):
        if was["high_watermark"] != now["high_watermark"] and was["records"] == now["records"]:
            return broker, {}
    return None


# The network


def _lose_message(before: Abstract, after: Abstract) -> Found | None:
    for variable in ("messages", "fetches"):
        for item in _gone(variable, before, after) if _spent("losses", before, after) else ():
            return item["to"], {variable: item}
    return None


def _duplicate_message(before: Abstract, after: Abstract) -> Found | None:
    for variable in ("messages", "fetches"):
        for item in _new(variable, before, after):
            if item["copy"] == 2 and _spent("duplicates", before, after):
                return item["to"], {variable: item}
    return None


_READERS: dict[str, Reader] = {
    EnvironmentAction.LOSE_MESSAGE.value: _lose_message,
    EnvironmentAction.DUPLICATE_MESSAGE.value: _duplicate_message,
    EnvironmentAction.LOSE_REPLY.value: _lose_reply,
    EnvironmentAction.CRASH_BROKER.value: _crash_broker,
    EnvironmentAction.RESTART_BROKER.value: _restart_broker,
    EnvironmentAction.EXPIRE_SESSION.value: _expire_session,
    Action.REGISTER_BROKER.value: _register_broker,
    Action.CREATE_TOPIC.value: _create_topic,
    Action.ELECT_CONTROLLER.value: _elect_controller,
    Action.RESIGN_CONTROLLER.value: _resign_controller,
    Action.DETECT_BROKER_CHANGE.value: _detect_broker_change,
    Action.INIT_LEADER.value: _decide(is_first=True),
    Action.ELECT_LEADER.value: _decide(is_first=False),
    Action.PUBLISH_DECISION.value: _publish_decision,
    Action.SEND_LEADER_AND_ISR.value: _send_leader_and_isr,
    Action.BECOME_LEADER.value: _become(is_leader=True),
    Action.BECOME_FOLLOWER.value: _become(is_leader=False),
    Action.SHRINK_ISR.value: _ask_isr(grows=False),
    Action.EXPAND_ISR.value: _ask_isr(grows=True),
    Action.ADOPT_ISR.value: _isr_write_ended("leader", is_fencing=False),
    Action.FENCE_LEADER.value: _fence_leader,
    Action.TRUNCATE_LOG.value: _truncate_log,
    Action.LEADER_APPEND.value: _leader_append,
    Action.SERVE_FETCH.value: _serve_fetch,
    Action.FOLLOWER_APPEND.value: _follower_append,
    Action.ADVANCE_HIGH_WATERMARK.value: _advance_high_watermark,
    Action.LEARN_CONTROLLER.value: _learn_controller,
}
"""In an order in which the first reader that finds something is right."""
