"""The folder that a failing test leaves, as far as it is needed to run the same test again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.runs.run_folder import begun_in
from fencepost.fault_injection.stories.story import Story, StoryAction
from fencepost.fault_injection.stories.story_record import EXECUTED, read_executed
from fencepost.spec.trace import HARNESS_TRACE


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTest:
    """A run that is to be run again."""

    folder: Path
    test: str
    """Its node id."""
    seed: int
    cluster: Mapping[str, Any]
    """`level`, `command`, `zookeeper`, `network` and the `first_controller`, as far as known."""
    faults: Mapping[str, StoryAction] = field(default_factory=dict)
    """By id: when each was injected, and at which brokers."""


def read_bundle(folder: Path) -> RecordedTest:
    """What was run in `folder`; raises `ChoiceError` with one sentence."""
    path = folder / HARNESS_TRACE
    if not path.is_file():
        raise ChoiceError(f"{folder} is no run of a test: it holds no {HARNESS_TRACE}")
    begun = begun_in(folder)
    test = begun.get("test")
    if not isinstance(test, str):
        again = begun.get("reproduce") or "the command that made it"
        raise ChoiceError(f"{folder} is no run of a test; run it again with: {again}")
    try:
        executed = _executed(folder)
        return RecordedTest(
            folder=folder,
            test=test,
            seed=int(begun["seed"]),
            cluster={
                **{name: begun.get(name) for name in ("command", "zookeeper", "network")},
                "level": int(begun["level"]),
                "first_controller": executed.cluster.get("first_controller"),
            },
            faults={action.action_id: action for action in executed.actions},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ChoiceError(f"{path} cannot be read as a run of a test: {error}") from error


def _executed(folder: Path) -> Story:
    """What was done; a run that was killed has not written it down. Raises `StoryError`."""
    return read_executed(folder) if (folder / EXECUTED).is_file() else Story(story_id=folder.name)
