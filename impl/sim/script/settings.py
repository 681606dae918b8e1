"""The options of `cluster`: each field of `RunOptions` and `Weather` by name, as text and back.

A new field of either can be said in a scenario at once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from types import NoneType
from typing import Any, get_args, get_type_hints

from fencepost.fault_injection.stories.story import Story
from fencepost.impl.mutants.mutant import MutantName
from fencepost.impl.mutants.mutants import MUTANTS, mutant_name
from fencepost.impl.sim.engine.options import RunOptions
from fencepost.impl.sim.world.network import Weather
from fencepost.spec.vocabulary import ProtocolLevel

_ELSEWHERE = ("weather", "story")
"""Fields of `RunOptions` that are said by the options of `Weather`, and by `at` lines."""

DEFAULTS = RunOptions(seed=0, level=ProtocolLevel.LEADER_EPOCH, story=Story(seed=0))
"""What `cluster` without options starts."""

_OPTIONS = {n: t for n, t in get_type_hints(RunOptions).items() if n not in _ELSEWHERE}
_WEATHER = get_type_hints(Weather)
SETTINGS = frozenset({*_OPTIONS, *_WEATHER})


def read_options(given: Mapping[str, str]) -> RunOptions:
    """The options of a run; raises `ValueError` with one sentence."""
    parsed: dict[str, Any] = {}
    weather: dict[str, Any] = {}
    for name, text in given.items():
        if name in _OPTIONS:
            parsed[name] = _read(_OPTIONS[name], name, text)
        else:
            weather[name] = _read(_WEATHER[name], name, text)
    defaults = {item.name: getattr(DEFAULTS, item.name) for item in fields(RunOptions)}
    return RunOptions(**{**defaults, **parsed, "weather": Weather(**weather)})


def write_options(options: RunOptions) -> Iterator[str]:
    """`name=value` of each setting that is not the default, in the order of the fields."""
    for whole, usual in ((options, DEFAULTS), (options.weather, DEFAULTS.weather)):
        for item in fields(whole):
            value = getattr(whole, item.name)
            if item.name not in _ELSEWHERE and value != getattr(usual, item.name):
                yield f"{item.name}={_write(value)}"


def _write(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return "..".join(str(end) for end in value)
    return str(int(value)) if isinstance(value, ProtocolLevel) else str(value)


def _read(kind: Any, name: str, text: str) -> object:  # noqa: ANN401  a type, or a union of them
    members = [member for member in get_args(kind) if member is not NoneType]
    if NoneType in get_args(kind):
        return _read(members[0], name, text)
    try:
        if kind is bool:
            return {"yes": True, "no": False}[text]
        if members:  # a range
            low, high = text.split("..")
            return members[0](low), members[1](high)
        if kind is MutantName:
            return mutant_name(text)
        return kind(int(text)) if kind is ProtocolLevel else kind(text)
    except (KeyError, ValueError):
        raise ValueError(f"{name}={text} is none; write {_form(kind)}") from None


def _form(kind: Any) -> str:  # noqa: ANN401
    if kind is bool:
        return "yes or no"
    if get_args(kind):
        return "two numbers, as in 1..60"
    if kind in (int, float):
        return "a number"
    names = MUTANTS if kind is MutantName else [str(member.value) for member in kind]
    return f"one of {', '.join(names)}"
