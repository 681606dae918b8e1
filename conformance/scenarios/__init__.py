"""The chaos scenarios: the library of story files, and what a file cannot say.

One file per story in `stories/`; several kinds of faults in one run save time. A story that a level
is known to fail names it in `fails_at` (`docs/attacks.md`).
"""

from pathlib import Path

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.runs.scenario import Scenario
from fencepost.conformance.scenarios import drawn
from fencepost.fault_injection.stories.story_file import read_story
from fencepost.fault_injection.stories.story_refusal import instead

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
    "producer_numbers",
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
        near = instead(name, SCENARIOS, f"choose one of {', '.join(SCENARIOS)}, or a file")
        raise ChoiceError(f"unknown story {name!r}; {near}")
    return SCENARIOS[name]


def path_of(given: str) -> Path | None:
    """The story file that `given` is; None: it is a name of the library. Raises `ChoiceError`."""
    path = Path(given)
    if given in SCENARIOS and path.is_file():
        raise ChoiceError(
            f"{given!r} is a story of the library and a file here; write ./{given} for the file"
        )
    return path if "/" in given or path.suffix or path.is_file() else None
