"""The settings of a simulated run, as the `cluster` of a story gives them and back.

Each field of `RunOptions` and `Weather` has its name; what a cluster of processes has too stands
beside `simulator`, the rest in it.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_type_hints

import msgspec
from msgspec import UNSET, UnsetType

from fencepost.fault_injection.stories.story import Story
from fencepost.fault_injection.stories.story_refusal import StoryError
from fencepost.impl.mutants.mutants import mutant_name
from fencepost.impl.sim.engine.options import RunOptions
from fencepost.impl.sim.world.network import Weather
from fencepost.spec.vocabulary import NEWEST_LEVEL

DEFAULTS = RunOptions(seed=0, level=NEWEST_LEVEL, story=Story(seed=0))
"""The cluster of a story that says nothing of it."""
SHARED = {
    "brokers": "brokers",
    "session_timeout_ms": "session_timeout_ms",
    "replica_lag_ms": "replica_lag_time_ms",
    "level": "level",
    "judged_level": "judged_level",
    "mutant": "mutant",
    "unclean_leader_election": "unclean_leader_election",
    "min_insync_replicas": "min_insync_replicas",
}
"""Setting of a cluster -> field of `RunOptions`."""

_ELSEWHERE = ("weather", "story", "seed", "first_controller")
_HINTS = {
    name: hint
    for name, hint in {**get_type_hints(RunOptions), **get_type_hints(Weather)}.items()
    if name not in _ELSEWHERE
}
_Settings: Any = msgspec.defstruct(
    "settings",
    [(name, hint | UnsetType, UNSET) for name, hint in _HINTS.items()],
    kw_only=True,
    forbid_unknown_fields=True,
)


def read_options(seed: int, cluster: Mapping[str, Any]) -> RunOptions:
    """The options of a run; raises `StoryError`."""
    given = {SHARED[name]: value for name, value in cluster.items() if name in SHARED}
    given |= cluster.get("simulator", {})
    try:
        settings = msgspec.convert(given, _Settings)
    except msgspec.ValidationError as error:
        raise StoryError(f"cluster: {error}") from error
    found = {name: value for name in _HINTS if (value := getattr(settings, name)) is not UNSET}
    try:
        if found.get("mutant") is not None:
            mutant_name(found["mutant"])
    except ValueError as error:
        raise StoryError(f"cluster: {error}; fencepost mutants list has all") from error
    weather = {item.name: found.pop(item.name) for item in fields(Weather) if item.name in found}
    usual = {item.name: getattr(DEFAULTS, item.name) for item in fields(RunOptions)}
    return RunOptions(**{**usual, **found, "seed": seed, "weather": Weather(**weather)})


def write_options(options: RunOptions) -> dict[str, Any]:
    """The `cluster` of a story that is played with these options; the seed is the story's."""
    names = {field: name for name, field in SHARED.items()}
    cluster: dict[str, Any] = {}
    simulator: dict[str, Any] = {}
    for whole, usual in ((options, DEFAULTS), (options.weather, DEFAULTS.weather)):
        for item in fields(whole):
            value = getattr(whole, item.name)
            if item.name in _ELSEWHERE or value == getattr(usual, item.name):
                continue
            into = cluster if item.name in names else simulator
            into[names.get(item.name, item.name)] = msgspec.to_builtins(value)
    return cluster | ({"simulator": simulator} if simulator else {})
