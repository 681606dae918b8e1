"""What one action of the specs changes: finds its actor and parameters in two successive states.

`steps.py` has the table of actions with their readers. An effect belongs to one action only.
"""

from collections.abc import Callable, Iterator

from fencepost.impl.sim.stepped.spec_state import Abstract, Plain

Found = tuple[int, dict[str, Plain]]
"""The actor and the parameters."""

Reader = Callable[[Abstract, Abstract], Found | None]
"""Of the states before and after; None: another action led from one to the other."""

ENVIRONMENT = 0
"""The actor of a step that no broker takes."""


def changed(
    variable: str,
    when: Callable[[Plain, Plain], object],
    told: Callable[[Plain, Plain], dict[str, Plain]] = lambda _was, _now: {},
) -> Reader:
    """Reads the first broker or controller with a change for which `when` holds; it acts.

    Both functions get its part of the variable before and after; `told` makes the parameters.
    """

    def read(before: Abstract, after: Abstract) -> Found | None:
        for key, was in before.get(variable, {}).items():
            now = after[variable][key]
            if was != now and when(was, now):
                return int(key), told(was, now)
        return None

    return read


def spending(budget: str, reader: Reader, *, is_spent: bool = True) -> Reader:
    """As the reader, for steps that the specs count in this budget, or do not."""

    def read(before: Abstract, after: Abstract) -> Found | None:
        return reader(before, after) if _spends(budget, before, after) == is_spent else None

    return read


def first_of(*readers: Reader) -> Reader:
    """What the first of the readers finds."""

    def read(before: Abstract, after: Abstract) -> Found | None:
        return next(filter(None, (reader(before, after) for reader in readers)), None)

    return read


def _spends(budget: str, before: Abstract, after: Abstract) -> bool:
    return bool(before["budget"].get(budget, 0) != after["budget"].get(budget, 0))


def _in_flight(before: Abstract, after: Abstract) -> Iterator[tuple[str, Plain]]:
    """Variable and item of each message in `after` that is not in `before`."""
    for variable in ("messages", "fetches"):
        for item in after.get(variable, ()):
            if item not in before[variable]:
                yield variable, item


# Brokers


def register_broker(before: Abstract, after: Abstract) -> Found | None:
    """A broker is registered that was not."""
    arrived = set(after["registered"]) - set(before["registered"])
    return (min(arrived), {}) if arrived else None


def create_topic(before: Abstract, after: Abstract) -> Found | None:
    """The topic exists that did not."""
    return (ENVIRONMENT, {}) if after["topic"] and not before["topic"] else None


_starts = changed("replicas", lambda was, now: was["role"] == "down" and now["role"] == "starting")


def restart_broker(before: Abstract, after: Abstract) -> Found | None:
    """A broker that was down starts, with the checkpoint that its log has then."""
    if (found := _starts(before, after)) is None:
        return None
    log = after.get("logs", {}).get(str(found[0]), {})
    return found[0], {"checkpoint": log.get("high_watermark", 0)}


def expire_session(before: Abstract, after: Abstract) -> Found | None:
    """A registration is gone, or `/controller`."""
    gone = set(before["registered"]) - set(after["registered"])
    if gone:
        return min(gone), {}
    if before["controller"] and not after["controller"]:
        return before["controller"], {}
    return None


def _learns_controller(was: Plain, now: Plain) -> bool:
    same = was["leader_epoch"] == now["leader_epoch"] and was["role"] == now["role"]
    return bool(same and was["controller_epoch"] != now["controller_epoch"])


crash_broker = changed("replicas", lambda _, now: now["role"] == "down")
learn_controller = changed("replicas", _learns_controller)


# Controllers


def _detects_change(was: Plain, now: Plain) -> bool:
    return bool(was["status"] == now["status"] and was["live_brokers"] != now["live_brokers"])


def _of_detection(was: Plain, now: Plain) -> dict[str, Plain]:
    return {"tells": bool({*now["live_brokers"]} - {*was["live_brokers"]} and now["to_send"])}


def _of_decision(_: Plain, now: Plain) -> dict[str, Plain]:
    state = now["decision"][0]["state"]
    return {"leader": state["leader"], "isr": state["isr"]}


def _of_publication(was: Plain, now: Plain) -> dict[str, Plain]:
    decision, tells = was["decision"][0], now["to_send"]
    mine = {"state": decision["state"], "znode_version": decision["expected_version"] + 1}
    return {"is_published": tells == [mine], "tells": bool(tells)}


def _drops(field: str) -> Callable[[Plain, Plain], object]:
    """A controller that still acts has this no more."""
    return lambda was, now: was[field] and not now[field] and now["status"] != "standing"


elect_controller = changed(
    "controllers",
    lambda was, now: was["status"] != now["status"] and now["status"] in ("active", "created"),
    lambda _, now: {"status": now["status"], "tells": bool(now["to_send"])},
)
resign_controller = changed("controllers", lambda _, now: now["status"] == "standing")
detect_broker_change = changed("controllers", _detects_change, _of_detection)
decide = changed(
    "controllers", lambda was, now: now["decision"] and not was["decision"], _of_decision
)
publish_decision = changed("controllers", _drops("decision"), _of_publication)
send_leader_and_isr = changed(
    "controllers",
    _drops("to_send"),
    lambda was, _: {**was["to_send"][0], "controller_epoch": was["controller_epoch"]},
)


# Commands and the ISR


def become(*, is_leader: bool) -> Reader:
    """A command of this kind has been taken out of the network."""

    def read(before: Abstract, after: Abstract) -> Found | None:
        for variable, item in _in_flight(after, before):
            if variable == "messages" and (item["leader"] == item["to"]) == is_leader:
                return item["to"], {"message": item}
        return None

    return spending("losses", read, is_spent=False)


def ask_isr(*, grows: bool) -> Reader:
    """A leader waits for an ISR with one member more, or less."""

    def when(was: Plain, now: Plain) -> bool:
        is_asked = now["pending_isr"] not in ([], was["pending_isr"])
        return is_asked and ({*now["pending_isr"][0]} > {*now["isr"]}) == grows

    return changed(
        "replicas", when, lambda _, now: {"member": min({*now["pending_isr"][0]} ^ {*now["isr"]})}
    )


def end_isr_write(*roles: str, is_fencing: bool) -> Reader:
    """A broker, now in one of these roles, waits no more; one that adopts has a newer version."""

    def when(was: Plain, now: Plain) -> bool:
        has_ended = was["pending_isr"] and not now["pending_isr"] and now["role"] in roles
        same_version = was["znode_version"] == now["znode_version"]
        same_epoch = was["leader_epoch"] == now["leader_epoch"]
        return bool(has_ended and same_version == is_fencing and same_epoch)

    return changed("replicas", when)


def _loses_reply(variable: str) -> Reader:
    return changed(
        variable,
        lambda was, now: now["is_reply_lost"] and not was["is_reply_lost"],
        lambda _was, _now: {"is_controller": variable == "controllers"},
    )


_lost = first_of(_loses_reply("replicas"), _loses_reply("controllers"))
lose_reply = spending("lost_requests", _lost, is_spent=False)
lose_request = spending("lost_requests", _lost)


# Records


def serve_fetch(before: Abstract, after: Abstract) -> Found | None:
    """An answer is in flight, or the leader knows of another end offset of a follower."""
    for variable, answer in _in_flight(before, after):
        if variable == "fetches" and answer["copy"] == 1:
            return answer["from"], {"follower": answer["to"]}
    for leader, was in before.get("logs", {}).items():
        for follower, end_offset in after["logs"][leader]["end_offsets"].items():
            if end_offset != was["end_offsets"][follower] and end_offset >= 0:
                return int(leader), {"follower": int(follower)}
    return None


def _follower_append(before: Abstract, after: Abstract) -> Found | None:
    for variable, answer in _in_flight(after, before):
        if variable == "fetches":
            return answer["to"], {"answer": answer}
    return None


truncate_log = changed("logs", lambda was, now: now["is_truncated"] and not was["is_truncated"])
leader_append = spending(
    "records",
    changed(
        "logs",
        lambda was, now: len(now["records"]) > len(was["records"]),
        lambda _, now: {"value": now["records"][-1]["value"]},
    ),
)
follower_append = spending("losses", _follower_append, is_spent=False)
advance_high_watermark = changed(
    "logs",
    lambda was, now: (
        was["high_watermark"] != now["high_watermark"] and was["records"] == now["records"]
    ),
)


# The network


def _lose_message(before: Abstract, after: Abstract) -> Found | None:
    for variable, item in _in_flight(after, before):
        return item["to"], {variable: item}
    return None


def _duplicate_message(before: Abstract, after: Abstract) -> Found | None:
    for variable, item in _in_flight(before, after):
        if item["copy"] == 2:
            return item["to"], {variable: item}
    return None


lose_message = spending("losses", _lose_message)
duplicate_message = spending("duplicates", _duplicate_message)
