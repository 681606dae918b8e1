"""What became of a story: as it was meant, as its roles resolved, and as it was executed.

All three are story files. `expanded` has the brokers that roles resolved to; `executed` has the
times too, and beside each action a `record` of what proved it and how it ended, which a reader
leaves aside.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from fencepost.fault_injection.engine.progress import RunningFault, report_of
from fencepost.fault_injection.faults.process_faults import KillBroker
from fencepost.fault_injection.stories.story import AfterAction, At, Story, StoryAction, Trigger
from fencepost.fault_injection.stories.story_file import (
    action_document,
    as_document,
    read_story,
    to_yaml,
)

SOURCE = "story.yaml"
EXPANDED = "story.expanded.json"
EXECUTED = "story.executed.json"
DRAWN = "drawn"
"""The kind of `origin` of a story with actions that follow each other by chance alone.

What it executed has its times: an action is left out without those that came after it.
"""


def write_source(folder: Path, story: Story) -> None:
    """The story as it was meant is in the run's folder."""
    (folder / SOURCE).write_text(to_yaml(story), encoding="utf-8")


def write_expanded(folder: Path, story: Story, faults: Sequence[RunningFault[str]]) -> None:
    """What is resolved so far is in the run's folder."""
    known = {running.action.action_id: running.pinned() for running in faults}
    actions = [known.get(action.action_id, action) for action in story.actions]
    _write(folder / EXPANDED, as_document(replace(story, actions=tuple(actions))))


def write_executed(
    folder: Path, story: Story, faults: Iterable[RunningFault[str]], *, offset_ms: int
) -> None:
    """What was done is in the run's folder, and can be replayed; `story` is where it comes from."""
    document = as_document(story)
    timed = (At, AfterAction) if story.origin.get("of", {}).get("kind") == DRAWN else (At,)
    document["actions"] = [
        {
            **action_document(_done(running, offset_ms, timed)),
            "record": _record(running, offset_ms),
        }
        for running in faults
    ]
    _write(folder / EXECUTED, document)


def read_executed(folder: Path) -> Story:
    """The story that a run executed; raises `StoryError`."""
    return read_story(folder / EXECUTED)


def _done(
    running: RunningFault[str], offset_ms: int, timed: tuple[type[Trigger], ...]
) -> StoryAction:
    """At its real time and of its real length, where these were times and no events."""
    action = running.pinned()
    if running.injected_ms is None:
        return action
    if isinstance(action.when, timed):
        action = replace(action, when=At(at_ms=max(0, running.injected_ms - offset_ms)))
    lasted_ms = (running.healing_ms or running.injected_ms) - running.injected_ms
    fault = action.fault
    if action.until is not None or not fault.active_ms:
        return action
    if lasted_ms >= fault.active_ms and not running.is_held:
        return action
    length = "restart_after_ms" if isinstance(fault, KillBroker) else "for_ms"
    return replace(action, fault=msgspec.structs.replace(fault, **{length: max(1, lasted_ms)}))


def _record(running: RunningFault[str], offset_ms: int) -> dict[str, Any]:
    times = {"injected_ms": running.injected_ms, "healing_ms": running.healing_ms}
    return {
        "phase": str(running.phase),
        "broker_id": running.broker_id,
        "receiver_id": running.receiver_id,
        **{name: None if ms is None else ms - offset_ms for name, ms in times.items()},
        "evidence": running.evidence,
        "seconds": report_of(running).seconds,
    }


def _write(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
