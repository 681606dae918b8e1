"""`fencepost check --trace` and `--seed`: recorded runs, replayed against the specs."""

import json
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from fencepost.ci.gate.failures import as_usage
from fencepost.ci.gate.outcomes import of_replay
from fencepost.ci.gate.places import require_tlc
from fencepost.ci.gate.stages import recorded_seed
from fencepost.ci.options import LAST_LEVEL, LEVEL_HELP, NEWEST_LEVEL
from fencepost.ci.screens.outcome import show_outcome
from fencepost.spec.replay.recorded_run import ReplayError, find_runs
from fencepost.spec.replay.replay import (
    Explanation,
    ReplayReport,
    ReplayResult,
    line_text,
    replay as replay_runs,
    replay_folder,
)

TraceOption = Annotated[
    Path | None,
    typer.Option(
        "--trace", metavar="RUN", help="Replay the runs in this folder instead of checking models."
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option(
        "--seed", min=0, help="Replay this simulated run, as the gate does, instead of models."
    ),
]
OfLevel = Annotated[
    int | None,
    typer.Option(
        min=0, max=LAST_LEVEL, help=f"With --seed: {LEVEL_HELP}  [default: {NEWEST_LEVEL}]"
    ),
]
COLUMNS = ("run", "partition", "verdict", "events", "why")


def replay(folder: Path, *, as_json: bool) -> int:
    """Replay the runs below `folder`, tell what the spec does not allow, return the exit code."""
    with as_usage(ReplayError):
        find_runs(folder)
        require_tlc()
        return tell(replay_folder(folder), {}, as_json=as_json)


def replay_seed(seed: int, level: int | None, *, as_json: bool) -> int:
    """The same of the first partition of a simulated run."""
    require_tlc()
    level = NEWEST_LEVEL if level is None else level
    recorded = recorded_seed(seed, level)
    command = f"fencepost check --seed {seed} --level {level}"
    found = replay_runs([recorded], partitions_max=1)
    return tell(found, {recorded.name: command}, as_json=as_json)


def tell(found: ReplayReport, seeds: Mapping[str, str], *, as_json: bool) -> int:
    """Each replay with its reason; the commands of seeds go into the document."""
    outcome = of_replay(found, seeds=seeds)
    rows = [[row[column] for column in COLUMNS] for row in outcome.detail["replays"]]
    lines = chain.from_iterable(map(explained, found.results))
    table = ("replays", COLUMNS, rows)
    return show_outcome(outcome, table, lines, as_json=as_json, figures=outcome.figures)


def explained(result: ReplayResult) -> list[str]:
    """Where a replay stopped: the line, the spec's state and what it allowed there."""
    explanation = result.explanation
    if explanation is None:
        return []
    line = explanation.event.line
    moment = "after" if result.violated else "before"
    return [
        f"{result.run}, {result.partition}: event {explanation.index} of {result.events}, "
        f"{line.file}, line {line.number} ({line.event.node}, seq {line.event.seq})",
        f"  {line_text(explanation.event)}",
        f"  the spec's state {moment} it:",
        *(f"    {text}" for text in state_lines(explanation.state)),
        *([f"  enabled there: {enabled_actions(explanation)}"] if explanation.enabled else []),
    ]


def state_lines(state: object) -> list[str]:
    """One line per broker, controller and znode, and one for each thing of the whole."""
    assert isinstance(state, dict)
    lines: list[str] = []
    for name, value in state.items():
        if name in ("controllers", "replicas"):
            lines.extend(
                f"{name}[{number}]: {json.dumps(one)}" for number, one in enumerate(value, start=1)
            )
        elif name == "znodes" and isinstance(value, dict):
            lines.extend(f"{path}: {json.dumps(znode)}" for path, znode in value.items())
        else:
            lines.append(f"{name}: {json.dumps(value)}")
    return lines


def enabled_actions(explanation: Explanation) -> str:
    """The actions of the spec that could have come, each with its actors."""
    actors: dict[str, list[int]] = {}
    for action, actor in explanation.enabled:
        actors.setdefault(action, []).append(actor)
    told = [
        f"{action}({', '.join(map(str, numbers))})" if any(numbers) else action
        for action, numbers in actors.items()
    ]
    return ", ".join(told)
