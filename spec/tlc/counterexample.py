"""A counterexample: the states that TLC walked through, and what each step changed."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fencepost.spec.tlc.values import Value

_INDEX = re.compile(r"\w+\[(\d+)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterexampleState:
    """A state and the action that led there."""

    number: int
    action: str
    module: str
    """Where the action is defined; empty for the initial state."""
    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One place that a step changed: `replicas[2].role` from follower to down."""

    place: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterexample:
    """A behaviour that ends where something does not hold, or never comes to what should be."""

    states: tuple[CounterexampleState, ...]
    back_to: int | None = None
    """Of a temporal property: the number of the state from which it goes on again and again; the
    last one when nothing happens any more. None when the behaviour just ends."""

    def changes(self) -> Iterator[tuple[CounterexampleState, tuple[Change, ...]]]:
        """Each state after the first, with what is different in it."""
        for before, after in zip(self.states, self.states[1:], strict=False):
            yield after, tuple(changes_at("", dict(before.values), dict(after.values)))

    def as_data(self) -> list[dict[str, Value]]:
        """The states as JSON can hold them."""
        return [
            {
                "number": state.number,
                "action": state.action,
                "module": state.module,
                "values": dict(state.values),
            }
            for state in self.states
        ]

    def as_table(self) -> str:
        """One line per step and change, for people."""
        lines = ["   1  Init"]
        for state, changes in self.changes():
            told = tuple(changes)
            lines.append(f"{state.number:>4}  {state.action}{_actor(told)}")
            lines += [f"        {c.place}: {c.before} -> {c.after}" for c in told]
        lines += [f"      {self.lasso()}"] if self.back_to is not None else []
        return "\n".join(lines) + "\n"

    def lasso(self) -> str:
        """How a behaviour without end goes on, in words; empty when it ends."""
        if self.back_to is None:
            return ""
        if self.back_to == self.states[-1].number:
            return "stays so for ever"
        return f"then again from state {self.back_to}"


def _actor(changes: tuple[Change, ...]) -> str:
    """The actor, where the values tell: everything indexed by an actor changed at one index."""
    found = {match[1] for change in changes if (match := _INDEX.match(change.place))}
    return f"  ({found.pop()})" if len(found) == 1 else ""


def changes_at(place: str, before: Value, after: Value) -> Iterator[Change]:
    """Each place below `place` that differs; an empty `place` stands for the whole state."""
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            yield from _entry(_field(place, key), before.get(key), after.get(key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after) > 1:
        for number, (old, new) in enumerate(zip(before, after, strict=True), start=1):
            yield from changes_at(f"{place}[{number}]", old, new)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _members(place, before, after)
    else:
        yield Change(place=place, before=shown(before), after=shown(after))


def _entry(place: str, before: Value | None, after: Value | None) -> Iterator[Change]:
    if before is not None and after is not None:
        yield from changes_at(place, before, after)
    else:
        yield Change(
            place=place,
            before="nothing" if before is None else shown(before),
            after="nothing" if after is None else shown(after),
        )


def _members(place: str, before: list[Value], after: list[Value]) -> Iterator[Change]:
    for member in before:
        if member not in after:
            yield Change(place=place, before=shown(member), after="gone")
    for member in after:
        if member not in before:
            yield Change(place=place, before="nothing", after=shown(member))


def _field(place: str, key: str) -> str:
    if not place:
        return key
    return f"{place}.{key}" if key.isidentifier() else f"{place}[{key}]"


def shown(value: Value) -> str:
    """A value on one line, close to TLA+."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, dict):
        return "[" + ", ".join(f"{key}: {shown(item)}" for key, item in value.items()) + "]"
    if isinstance(value, list):
        return "{" + ", ".join(shown(item) for item in value) + "}"
    return str(value)
