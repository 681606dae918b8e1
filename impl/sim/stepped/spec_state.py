"""The state that specs and core share, as one plain value that is compared after each step.

`canonical` makes it of TLC's values; `observed_state.py` makes it of a stepped cluster.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.impl.core.types.messages import Record
from fencepost.spec.tlc.values import Value
from fencepost.spec.znodes import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    TopicPartition,
    leader_and_isr_path,
    topic_path,
)

Plain = Any
"""A value that JSON can hold."""

Abstract = dict[str, Plain]
"""Variable -> value; functions of brokers and controllers have the number as text for a key."""

VARIABLES = frozenset(
    {
        "budget",
        "registered",
        "controller",
        "controller_epoch",
        "topic",
        "state",
        "controllers",
        "replicas",
        "messages",
        "breaches",
    }
)
"""What a state of `LeaderAndIsr` has."""

LOG_VARIABLES = VARIABLES | {"logs", "fetches", "committed", "acknowledged"}
"""What a state of `Replication` has."""

KEY = TopicPartition("t", 0)
"""The one partition of the specs."""
STATE = leader_and_isr_path(KEY)
NO_VERSION = -1
_BROKERS = f"{BROKER_IDS}/"
_ONLY_SPECS = ("is_watching", "is_isr_alive", "heard", "place")
"""Fields of mutants, of histories, and of links that keep order."""
_SETS = ("isr", "live_brokers")
_BAGS = ("messages", "fetches", "breaches", "committed", "acknowledged")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One place where the core is not where the spec is."""

    field: str
    spec: Plain
    core: Plain

    def __str__(self) -> str:
        return f"{self.field}: the spec has {self.spec!r}, the core {self.core!r}"


def canonical(values: Mapping[str, Value]) -> Abstract:
    """The abstract state that a state of `LeaderAndIsr` or `Replication` is."""
    found: Abstract = {"budget": values["budget"], **_znodes(values["znodes"])}
    for name in ("controllers", "replicas", "logs"):
        if name in values:
            found[name] = {key: _record(item) for key, item in _function(values[name]).items()}
    for name in _BAGS:
        if name in values:
            found[name] = bag([_record(item) for item in values[name]])  # type: ignore[union-attr]
    return found


def records_of(records: Iterable[Record]) -> list[Abstract]:
    """Records as the specs have them: clients write numbers."""
    return [{"leader_epoch": r.leader_epoch, "value": int(r.value)} for r in records]


def bag(items: list[Any]) -> list[Any]:
    """The items in a fixed order."""
    return sorted(items, key=repr)


def differences(spec: Plain, core: Plain, place: str = "") -> Iterator[Difference]:
    """The places at which the two are not equal."""
    if isinstance(spec, dict) and isinstance(core, dict):
        for key in dict.fromkeys([*spec, *core]):
            if key not in spec or key not in core:
                yield Difference(field=f"{place}.{key}", spec=spec.get(key), core=core.get(key))
            else:
                yield from differences(spec[key], core[key], f"{place}.{key}" if place else key)
    elif spec != core:
        yield Difference(field=place, spec=spec, core=core)


def _znodes(znodes: Plain) -> Abstract:
    state = znodes[STATE]
    epoch = znodes[CONTROLLER_EPOCH]
    registrations = {path: znode for path, znode in znodes.items() if path.startswith(_BROKERS)}
    return {
        "registered": sorted(
            int(path.removeprefix(_BROKERS))
            for path, znode in registrations.items()
            if znode["version"] >= 0
        ),
        "controller": znodes[CONTROLLER]["ephemeral_owner"],
        "controller_epoch": [epoch["data"], epoch["version"]],
        "topic": znodes[topic_path(KEY.topic)]["version"] >= 0,
        "state": {**_record(state["data"]), "znode_version": state["version"]}
        if state["version"] >= 0
        else None,
    }


def _function(value: Plain) -> dict[str, Any]:
    """TLC prints a function with the domain 1..n as a sequence."""
    if isinstance(value, dict):
        return value
    return {str(number): item for number, item in enumerate(value, start=1)}


def _record(value: Plain) -> Plain:
    """The same with sets in order, and the keys too, without what only the specs know."""
    if isinstance(value, dict):
        known = [key for key in sorted(value) if key not in _ONLY_SPECS]
        return {key: _field(key, value[key]) for key in known}
    return value


def _field(key: str, value: Plain) -> Plain:
    if key in _SETS:
        return sorted(value)
    if key == "pending_isr":
        return [sorted(isr) for isr in value]
    if key in ("decision", "to_send", "records"):
        return [_record(item) for item in value]
    if key == "end_offsets":
        return _function(value)
    return _record(value)
