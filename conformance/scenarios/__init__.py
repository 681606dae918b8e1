"""The chaos scenarios: the library of story files, and what a file cannot say.

One file per story in `stories/`; several kinds of faults in one run save time.
"""

from pathlib import Path

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.runs.scenario import Scenario
from fencepost.conformance.scenarios import drawn
from fencepost.fault_injection.stories.story_file import read_story

STORIES = Path(__file__).parent / "stories"
FIRST = (
    "quiet",
    "leader_pause",
    "leader_kill",
    "session_expiry",
    "controller_kill",
    "controller_pause",
    "rpc_faults",
    "stale_command",
    "reassignment",
    "topic_recreated",
    "truncation_loss",
    "zookeeper_failover",
    "links_cut",
    "links_restless",
    "zookeeper_links",
    "zookeeper_replies_lost",
    "unreplicated_record",
    "administration",
    "version_race",
    "random",
)
"""These are run first, in this order; files that are not named here follow by name."""


def _library() -> dict[str, Scenario]:
    files = (Scenario(story=read_story(path)) for path in sorted(STORIES.glob("*.yaml")))
    found = {scenario.name: scenario for scenario in (*files, drawn.SCENARIO)}
    return {name: found[name] for name in dict.fromkeys((*FIRST, *found))}


SCENARIOS = _library()
"""In the order in which they are run."""


def find(name: str) -> Scenario:
    """The scenario of that name; raises `ChoiceError`."""
    if name not in SCENARIOS:
        raise ChoiceError(f"unknown scenario {name!r}; choose one of {', '.join(SCENARIOS)}")
    return SCENARIOS[name]
