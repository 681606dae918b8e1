"""Stories of the library, story files and records of runs, as scenarios."""

from functools import cache
from pathlib import Path
from shlex import quote

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.catalogue.requirements import load_catalogue
from fencepost.conformance.runs.scenario import Scenario
from fencepost.conformance.scenarios import STORIES, find, path_of
from fencepost.conformance.scenarios.step_play import require_playable
from fencepost.fault_injection.faults.catalogue import require_backend
from fencepost.fault_injection.faults.fault_kind import Backend
from fencepost.fault_injection.faults.targets import FaultError
from fencepost.fault_injection.stories.story import ClientLoad, Story
from fencepost.fault_injection.stories.story_file import read_story
from fencepost.fault_injection.stories.story_record import EXECUTED
from fencepost.fault_injection.stories.story_refusal import StoryError, instead
from fencepost.fault_injection.stories.story_world import (
    ASSIGNMENT,
    TOPIC,
    StoryWorld,
    require_there,
)


def find_story(given: str) -> Scenario:
    """The story of a name or a file, of which real processes can do all; raises `ChoiceError`."""
    path = path_of(given)
    if path is None:
        return find(given)
    story = story_at(path)
    _require_playable(story, path)
    return Scenario(story=story, again=f"--story {quote(given)}")


def find_file(given: str) -> Path:
    """The file of the story of that name or path; raises `ChoiceError`."""
    if path := path_of(given):
        return path
    if find(given).draw is not None:
        raise ChoiceError(f"{given} is drawn from the seed; fencepost chaos plays it")
    return STORIES / f"{given}.yaml"


def find_executed(run: Path) -> Scenario:
    """What a run executed, as a scenario; raises `ChoiceError`."""
    folder = executed_folder(run)
    story = story_at(folder / EXECUTED)
    _require_playable(story, folder / EXECUTED)
    return Scenario(story=story, again=f"--replay {quote(str(folder))}")


def story_at(path: Path) -> Story:
    """The story of a file; raises `ChoiceError`."""
    try:
        return read_story(path)
    except FaultError as error:
        raise ChoiceError(str(error)) from error


def executed_folder(run: Path) -> Path:
    """The folder of the one scenario of a run; raises `ChoiceError` when it is not one."""
    if (run / EXECUTED).is_file():
        return run
    found = sorted(path.parent for path in run.glob(f"*/{EXECUTED}"))
    if len(found) == 1:
        return found[0]
    if not found:
        raise ChoiceError(f"{run} holds no {EXECUTED}; name the folder of a run of fencepost chaos")
    names = ", ".join(path.name for path in found)
    raise ChoiceError(f"{run} holds several stories; name the folder of one of {names}")


def _require_playable(story: Story, path: Path) -> None:
    """Raise `ChoiceError` when real processes cannot do it, or it names what is not there."""
    try:
        _require_real(story)
        require_there(story, _world_of(story))
        require_requirements(story)
    except (FaultError, ChoiceError) as error:
        raise ChoiceError(f"{path}: {error}") from error


def _world_of(story: Story) -> StoryWorld:
    """The cluster that plays it, and what its clients work with; raises `ChoiceError`."""
    brokers = ClusterSettings(**story.cluster).broker_ids
    topics = {TOPIC: len(ASSIGNMENT)} if story.profile is not ClientLoad.NONE else {}
    return StoryWorld(brokers=brokers, topics=topics)


def require_requirements(story: Story) -> None:
    """Raise `StoryError` when it covers what the catalogue of requirements lacks."""
    if not story.requirements:
        return
    known = _requirement_ids()
    places = [("the story", story.covers)] + [
        (f"actions[{index}] ({action.action_id})", action.covers)
        for index, action in enumerate(story.actions)
    ]
    for where, names in places:
        for name in names:
            if name not in known:
                says = instead(name, known, "conformance/catalogue has them")
                raise StoryError(f"{where}: covers holds {name!r}, which is no requirement; {says}")


@cache
def _requirement_ids() -> frozenset[str]:
    """All that the catalogue has."""
    return frozenset(requirement.id for requirement in load_catalogue())


def _require_real(story: Story) -> None:
    require_playable(story)
    for action in story.actions:
        require_backend(action.action_id, action.fault.kind, Backend.REAL)
