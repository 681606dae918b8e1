"""Reads when an action begins and ends: times, other actions, and lines of traces."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from fencepost.fault_injection.stories.story import (
    AfterAction,
    AfterEvent,
    At,
    Condition,
    Operator,
    Trigger,
)
from fencepost.fault_injection.stories.story_document import (
    EVENTS,
    AfterDocument,
    Comparison,
    TriggerDocument,
)
from fencepost.fault_injection.stories.story_refusal import StoryError, instead
from fencepost.spec.trace import Phase

FORMS = ("at_ms", "after", "with", "on")
OF_EVENTS = ("event", "by", "match", "nth", "since")
"""Fields of `after` that speak of a line of a trace, not of an action."""


def read_trigger(where: str, given: TriggerDocument, own_id: str) -> Trigger:
    """The trigger at a place of a file; `own_id` is what an end counts from without `since`.

    Raises `StoryError`.
    """
    forms = [given.at_ms, given.after, given.with_, given.on]
    found = [name for name, form in zip(FORMS, forms, strict=True) if form is not UNSET]
    if len(found) != 1:
        has = " and ".join(found) or "nothing"
        raise StoryError(f"{where}: it has {has}; give exactly one of {', '.join(FORMS)}")
    if not isinstance(given.at_ms, UnsetType):
        return At(at_ms=given.at_ms)
    if not isinstance(given.with_, UnsetType):
        return AfterAction(action_id=given.with_, phase=Phase.INJECTING)
    if not isinstance(given.after, UnsetType):
        return _after(f"{where}: after", given.after, own_id)
    return _first_line(f"{where}: on", given.on, own_id)


def _after(where: str, given: AfterDocument, own_id: str) -> Trigger:
    plus_ms = given.plus_ms
    if not isinstance(given.action, UnsetType):
        for name in OF_EVENTS:
            if getattr(given, name) is not UNSET:
                raise StoryError(
                    f"{where}: there is no field {name!r}; choose among action, phase, plus_ms"
                )
        phase = Phase.ACTIVE if isinstance(given.phase, UnsetType) else Phase(given.phase)
        return AfterAction(action_id=given.action, phase=phase, plus_ms=plus_ms)
    if isinstance(given.event, UnsetType):
        raise StoryError(f"{where}: it has neither event nor action; give one of them")
    if given.phase is not UNSET:
        known = ", ".join(sorted((*OF_EVENTS, "plus_ms")))
        raise StoryError(f"{where}: there is no field 'phase'; choose among {known}")
    return AfterEvent(
        event=_event(where, given.event),
        by=None if isinstance(given.by, UnsetType) else given.by,
        match=() if given.match is UNSET else _conditions(f"{where}: match", given.match),
        nth=1 if isinstance(given.nth, UnsetType) else given.nth,
        since=own_id if isinstance(given.since, UnsetType) else given.since,
        plus_ms=plus_ms,
    )


def _first_line(where: str, given: Any, own_id: str) -> Trigger:  # noqa: ANN401
    """The short form: the event's name, and its fields beside it."""
    match = _conditions(where, given)
    if not match and not given.event:
        raise StoryError(f"{where}: it is empty; give an event or fields of one")
    return AfterEvent(event=_event(where, given.event), match=match, since=own_id)


def _event(where: str, event: str) -> str:
    if event and event not in EVENTS:
        near = instead(event, EVENTS, "spec/docs/trace.md lists them")
        raise StoryError(
            f"{where}: event is {event!r}, which no broker or client writes into its trace; {near}"
        )
    return event


def _conditions(where: str, given: Struct) -> tuple[Condition, ...]:
    found: list[Condition] = []
    for name in given.__struct_fields__:
        value = getattr(given, name)
        if name == "event" or value is UNSET:
            continue
        compared = _compared(value) if isinstance(value, Comparison) else {Operator.EQ: value}
        if not compared:
            known = ", ".join(value.__struct_encode_fields__)
            raise StoryError(f"{where}: {name}: nothing is compared; choose one of {known}")
        found += [
            Condition(name=name, operator=operator, value=_plain(other))
            for operator, other in compared.items()
        ]
    return tuple(found)


def _compared(comparison: Comparison) -> dict[Operator, Any]:
    names = zip(comparison.__struct_fields__, comparison.__struct_encode_fields__, strict=True)
    given = {Operator(name): getattr(comparison, field) for field, name in names}
    return {operator: value for operator, value in given.items() if value is not UNSET}


def _plain(value: object) -> object:
    return tuple(map(_plain, value)) if isinstance(value, list) else value
