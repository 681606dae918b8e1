"""The settings of a run, from all that says something of them.

The command line comes before the run that is played again, that before the usual. What a story
says of its cluster comes before all of these, since its faults rely on it; only a ZooKeeper that
was asked for stays.
"""

from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from fencepost.conformance.adapters.choices import CONTAINERS, EMBEDDED, ENSEMBLE
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.implementation import Implementation
from fencepost.conformance.adapters.reference import REFERENCE, implementation_of
from fencepost.conformance.adapters.settings import NEWEST, ClusterSettings
from fencepost.conformance.runs.scenario import Scenario

NAMES = frozenset({"level", "network", "zookeeper", "first_controller"})


def settings_of(
    *sources: Mapping[str, Any], usual: ClusterSettings | None = None
) -> ClusterSettings:
    """What the sources say of a run's cluster; an earlier source comes before a later one.

    A source is what a command line, a run's `RunStarted` or a story's `origin` says: one of
    `NAMES`, or `implementation`, `command` and `mutant`. What is missing, None or empty says
    nothing. Raises `ChoiceError`.
    """
    usual, said = usual or ClusterSettings(), list(map(_said, sources))
    values = ChainMap(*said)
    found = {name: values[name] for name in NAMES & values.keys()}
    implementation = _implementation(said, usual.implementation)
    if implementation.levels != usual.implementation.levels:
        found.setdefault("level", NEWEST)
    return replace(usual, implementation=implementation, **found)


def _said(source: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in source.items() if value not in (None, "")}


def _implementation(sources: Iterable[dict[str, Any]], usual: Implementation) -> Implementation:
    """The one that the first source names which names any, with the rule broken that is said."""
    said: dict[str, Any] = {}
    for source in sources:
        said = source | said
        if said.keys() & {"command", "implementation"}:
            break
    command, rule = said.get("command"), str(said.get("mutant", ""))
    name = str(said.get("implementation", REFERENCE.name if rule else usual.name))
    if rule and (command or name != REFERENCE.name):
        raise ChoiceError(f"the run is one of {command or name}, which has no mutants; give none")
    if command:
        return implementation_of(command)
    if rule or name == REFERENCE.name:
        return replace(REFERENCE, broken_rule=rule)
    if name == usual.name:
        return usual
    raise ChoiceError(
        f"the run is one of {name}, which no command starts; play it in a test whose fixture "
        f"cluster_settings has that implementation"
    )


def settings_for(scenario: Scenario, settings: ClusterSettings) -> ClusterSettings:
    """The settings with what the scenario says of its cluster, and with an ensemble if it hurts it.

    A ZooKeeper that was asked for stays, except that faults hurt only servers of our own.
    """
    own = dict(scenario.story.cluster)
    if settings.zookeeper != EMBEDDED:
        own["zookeeper"] = settings.zookeeper
    if scenario.needs_ensemble and settings.zookeeper != CONTAINERS:
        own["zookeeper"] = ENSEMBLE
    return replace(settings, **own)
