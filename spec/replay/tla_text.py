"""Recorded runs as text of a TLA+ module, and the configuration of their replay."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from fencepost.spec.replay.fields import Fields, TlaText, Value
from fencepost.spec.replay.projection import Event
from fencepost.spec.tlc.mutants import Mutated
from fencepost.spec.vocabulary import ProtocolLevel

MODULE = "TraceData"
Shape = tuple[str, ...]
"""Action and names of the fields of an event."""


class TlaRun(Protocol):
    """One element of the constant of that name."""

    @property
    def events(self) -> tuple[Event, ...]:
        """In order."""

    @property
    def facts(self) -> Fields:
        """The other fields."""


class TlaPartition(TlaRun, Protocol):
    """A partition, or a segment of one."""

    @property
    def level(self) -> int:
        """The protocol level of the run."""

    @property
    def brokers(self) -> frozenset[int]:
        """Those of the run."""

    @property
    def begins(self) -> TlaText | None:
        """The state before the first event, if it is not the one in which the spec begins."""


def module(runs: Sequence[TlaRun], limits: Iterable[str]) -> str:
    """The module that makes `runs` the constant of the replay."""
    shapes = _shapes(runs)
    return "\n".join(
        (
            f"---- MODULE {MODULE} ----",
            "EXTENDS Integers, Sequences, TLC",
            *(_operator(shape, name) for shape, name in shapes.items()),
            f"Recorded == <<{_runs(runs, shapes)}>>",
            f"Unlimited == [what \\in {{{', '.join(map(_text, limits))}}} |-> 1000]",
            "====",
            "",
        )
    )


def config(
    level: int,
    brokers: Iterable[int],
    over: Mutated,
    *,
    init: str,
    next_state: str,
    constraint: str,
) -> str:
    """The configuration for partitions of one level with these brokers.

    `over` is the root module without the rules that the level does not have. A producer that does
    not wait for all is taken under any ISR, and the trace does not say which ones wait.
    """
    constants = {
        "truncation": f"= {_text(truncation(level))}",
        "MinInsyncReplicas": "= 1",
        **_of_partitions(brokers),
    }
    return _config(constants | dict(over.replaced), init, next_state, constraint)


def observed_config(brokers: Iterable[int]) -> str:
    """The configuration for the coarse replay of partitions with these brokers."""
    return _config(_of_partitions(brokers), "TraceInit", "TraceNext", "Watch")


def _of_partitions(brokers: Iterable[int]) -> dict[str, str]:
    all_brokers = "{" + ", ".join(map(str, sorted(brokers))) + "}"
    return {
        "Brokers": f"= {all_brokers}",
        "Controllers": f"= {all_brokers}",
        "InitialIsr": f"= {all_brokers}",
        "Start": '= "empty"',
        "network": '= "unordered"',
        "unclean_leader_election": "= FALSE",
    }


def zookeeper_config() -> str:
    """The configuration for ZooKeeper in any runs."""
    constants = {
        "Clients": "<- RecordedClients",
        "Paths": "<- RecordedPaths",
        "Fence": "<- AnyPath",
    }
    return _config(constants, "TraceInit", "TraceNext", "Watch")


def _config(constants: dict[str, str], init: str, next_state: str, constraint: str) -> str:
    return "\n".join(
        (
            "CONSTANTS",
            *(f"    {name} {value}" for name, value in constants.items()),
            "    Limits <- Unlimited",
            f"INIT {init}",
            f"NEXT {next_state}",
            "VIEW Place",
            f"CONSTRAINT {constraint}",
            "",
        )
    )


def truncation(level: int) -> str:
    """How a follower finds where to cut its log at this level."""
    return "leader_epoch" if level >= ProtocolLevel.LEADER_EPOCH else "high_watermark"


def missing_rules(level: int) -> tuple[str, ...]:
    """The rules that a protocol level does not have, as names of mutants of the specs."""
    missing: tuple[str, ...] = ()
    if level < ProtocolLevel.LEADER_EPOCH:
        missing += ("fetch_without_epoch",)
    if level < ProtocolLevel.CONTROLLER_EPOCH:
        missing += (
            "controller_epoch_not_raised",
            "no_controller_epoch_check",
            "no_controller_znode_check",
        )
    return missing


def _shapes(runs: Sequence[TlaRun]) -> dict[Shape, str]:
    """The name of an operator for each kind of event: SANY takes half its time per character."""
    found = {_shape(event.fields) for run in runs for event in run.events}
    return {shape: f"E{number}" for number, shape in enumerate(sorted(found))}


def _shape(fields: Fields) -> Shape:
    return (str(fields["action"]), *(name for name in fields if name != "action"))


def _operator(shape: Shape, name: str) -> str:
    action, *fields = shape
    parameters = [f"f{number}" for number in range(len(fields))]
    record = ", ".join(
        (f"action |-> {_text(action)}", *map(" |-> ".join, zip(fields, parameters, strict=True)))
    )
    return f"{name}{_arguments(parameters)} == [{record}]"


def _arguments(values: Iterable[str]) -> str:
    inside = ",".join(values)
    return f"({inside})" if inside else ""


def _runs(runs: Sequence[TlaRun], shapes: dict[Shape, str]) -> str:
    return ",\n".join(
        f"[{_fields(run.facts)}, events |-> <<\n"
        + ",\n".join(_event(event.fields, shapes) for event in run.events)
        + "\n>>]"
        for run in runs
    )


def _event(fields: Fields, shapes: dict[Shape, str]) -> str:
    values = (_value(value) for name, value in fields.items() if name != "action")
    return shapes[_shape(fields)] + _arguments(values)


def _value(value: Value) -> str:
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case TlaText(text):
            return text
        case str():
            return _text(value)
        case frozenset():
            return "{" + ",".join(sorted(map(_value, value))) + "}"
        case dict():
            return f"[{_fields(value)}]"
        case _:
            return "<<" + ",".join(map(_value, value)) + ">>"


def _fields(fields: Fields) -> str:
    return ", ".join(f"{name} |-> {_value(value)}" for name, value in fields.items())


def _text(text: str) -> str:
    """The text in quotes, ASCII only; what is escaped is so in the text itself."""
    escaped = text.encode("unicode_escape").decode()
    return '"' + escaped.replace("\\", "\\\\").replace('"', '\\"') + '"'
