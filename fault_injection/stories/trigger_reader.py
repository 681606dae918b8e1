"""Reads when an action begins and ends: times, other actions, and lines of traces.

What no line of a trace can ever be is refused: nobody should wait for it.
"""

from enum import StrEnum
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from fencepost.fault_injection.faults.targets import FaultError, Target, parse_target
from fencepost.fault_injection.stories.document_reader import Reader, instead
from fencepost.fault_injection.stories.story import (
    AfterAction,
    AfterEvent,
    At,
    Condition,
    Operator,
    Trigger,
)
from fencepost.spec.trace import NODE_LINES, Phase, TraceEvent
from fencepost.spec.vocabulary import Action

TRIGGERS = ("at_ms", "after", "with", "on")
PHASES = (Phase.INJECTING, Phase.ACTIVE, Phase.HEALING, Phase.HEALED)
"""Those that an action may wait for."""
EVENTS = (*Action, *NODE_LINES)
"""What is watched while a story is played: the lines of brokers and clients."""
UNORDERED = (Operator.EQ, Operator.NE, Operator.IN)
NOUNS: dict[Any, str] = {
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    list[int]: "a list of whole numbers",
    list[str]: "a list of texts",
}


def _held(hint: Any) -> Any:  # noqa: ANN401
    """The type without the None of a field that is left out."""
    return next((one for one in get_args(hint) if one is not NoneType), hint)


FIELDS: dict[str, Any] = {
    name: hint if get_origin(hint) is list else _held(hint)
    for name, hint in get_type_hints(TraceEvent).items()
}
"""Field of a trace line -> what it holds."""


def read_trigger(reader: Reader, name: str, own_id: str) -> Trigger:
    """The trigger in the field `name`; `own_id` is what an end counts from when it does not say.

    Raises `StoryError`.
    """
    inner = reader.inner(name)
    given = [one for one in TRIGGERS if inner.has(one)]
    if len(given) != 1:
        found = " and ".join(given) or "nothing"
        raise inner.error(f"it has {found}; give exactly one of {', '.join(TRIGGERS)}")
    match given[0]:
        case "at_ms":
            found_trigger: Trigger = At(at_ms=inner.number("at_ms"))
        case "with":
            found_trigger = AfterAction(action_id=inner.text("with"), phase=Phase.INJECTING)
        case "on":
            found_trigger = _on(inner.inner("on"), own_id)
        case _:
            found_trigger = _after(inner.inner("after"), own_id)
    inner.finish()
    return found_trigger


def _after(reader: Reader, own_id: str) -> Trigger:
    plus_ms = reader.number("plus_ms", 0)
    if reader.has("action"):
        phase = Phase(reader.choice("phase", Phase.ACTIVE, PHASES))
        action = AfterAction(action_id=reader.text("action"), phase=phase, plus_ms=plus_ms)
        reader.finish()
        return action
    if not reader.has("event"):
        raise reader.error("it has neither event nor action; give one of them")
    event = AfterEvent(
        event=_event(reader),
        by=_by(reader),
        match=_conditions(reader.inner("match")),
        nth=reader.number("nth", 1, at_least=1),
        since=reader.text("since", own_id),
        plus_ms=plus_ms,
    )
    reader.finish()
    return event


def _on(reader: Reader, own_id: str) -> Trigger:
    """The short form: the event's name, and its fields beside it."""
    if not reader.given:
        raise reader.error("it is empty; give an event or fields of one")
    event = _event(reader, "")
    given = {name: value for name, value in reader.given.items() if name != "event"}
    return AfterEvent(event=event, match=_conditions(Reader(reader.where, given)), since=own_id)


def _event(reader: Reader, default: str | None = None) -> str:
    event = reader.text("event", default)
    if event and event not in EVENTS:
        raise reader.error(
            f"event is {event!r}, which no broker or client writes into its trace; "
            + instead(event, EVENTS, "spec/docs/trace.md lists them")
        )
    return event


def _by(reader: Reader) -> Target | None:
    reader.knows("by")
    if not reader.has("by"):
        return None
    try:
        return parse_target(str(reader.given["by"]))
    except FaultError as error:
        raise reader.error(f"by: {error}") from error


def _conditions(reader: Reader) -> tuple[Condition, ...]:
    for name in reader.given:
        if name not in FIELDS:
            where = instead(name, FIELDS, "spec/trace.schema.json lists them")
            raise reader.error(f"{name!r} is no field of a trace line; {where}")
    return tuple(
        condition
        for name, value in reader.given.items()
        for condition in _comparisons(reader, name, value)
    )


def _comparisons(reader: Reader, name: str, value: object) -> list[Condition]:
    if not isinstance(value, dict):
        value = {Operator.EQ: value}
    known = operators_of(name)
    found = []
    for word, other in value.items():
        if word not in known:
            raise reader.error(
                f"{name}: {word!r} compares nothing here; choose one of {', '.join(known)}"
            )
        operator = Operator(word)
        _check_compared(reader, name, operator, other)
        found.append(Condition(name=name, operator=operator, value=_plain(other)))
    if not found:
        raise reader.error(f"{name}: nothing is compared; choose one of {', '.join(known)}")
    return found


def _check_compared(reader: Reader, name: str, operator: Operator, value: object) -> None:
    """Raise `StoryError` for what the field never is; `ne: null` says that it is there."""
    if operator is Operator.NE and value is None:
        return
    if operator is Operator.IN and not isinstance(value, list):
        raise reader.error(f"{name}: in is {value!r}; give a list")
    for one in value if isinstance(value, list) and operator is Operator.IN else [value]:
        try:
            msgspec.convert(one, FIELDS[name])
        except msgspec.ValidationError as error:
            what = name if operator is Operator.EQ else f"{name}: {operator}"
            noun = noun_of(FIELDS[name])
            raise reader.error(f"{what} is {one!r}; give {noun}") from error


def operators_of(name: str) -> tuple[Operator, ...]:
    """How a field of a trace line can be compared: numbers by size, too."""
    return tuple(Operator) if FIELDS[name] is int else UNORDERED


def noun_of(field_type: Any) -> str:  # noqa: ANN401
    """What a field of that type holds, in words."""
    if isinstance(field_type, type) and issubclass(field_type, StrEnum):
        return f"one of {', '.join(field_type)}"
    return NOUNS[field_type]


def _plain(value: object) -> object:
    return tuple(map(_plain, value)) if isinstance(value, list) else value
