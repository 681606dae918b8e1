"""Runs without a fault, which must find nothing: whatever they find is a false alarm.

A start of processes takes longer than such a run, so several share a cluster. Each has its own
topic and its own clients, ends healthy, and is read to its end; the checks judge the whole cluster.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.clients.workload import Workload
from fencepost.conformance.runs.running_cluster import RunningCluster
from fencepost.conformance.runs.scenario import Scenario, ScenarioResult
from fencepost.conformance.runs.scenario_run import run
from fencepost.conformance.verdict import Verdict
from fencepost.fault_injection.stories.story import ClientLoad, Story
from fencepost.fault_injection.stories.story_world import ASSIGNMENT

REQUESTS = 60
"""Acknowledged in each run."""
RUN_S = 30.0
PER_CLUSTER = 20
CLIENTS = 4
NO_DOUBT = (Verdict.FAIL, Verdict.NOT_OBSERVABLE)
"""Of problems: an alarm leaves no doubt, and what a target never shows is no doubt of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NullRuns:
    """What several null runs on one cluster came to."""

    runs: int
    """Those that were played to their end."""
    alarms: tuple[str, ...]
    """What was found, one sentence each; it must be nothing."""
    undecided: tuple[str, ...]
    """Why it could not be told: the harness failed, or the host was busy."""
    result: ScenarioResult


def play_null_runs(runs: int, *, settings: ClusterSettings, seed: int, out: Path) -> NullRuns:
    """Play `runs` null runs one after the other on one new cluster, in the new folder `out`."""
    played: list[int] = []
    scenario = Scenario(
        story=Story(
            story_id="null_runs",
            says="Nothing goes wrong, again and again.",
            profile=ClientLoad.NONE,
        ),
        play=partial(_play, runs=runs, played=played),
    )
    result = run(scenario, settings=settings, seed=seed, folder=out)
    found = [f"{v.invariant}: {v.message}" for check in result.checks for v in check.violations]
    missed = [p.sentence for p in result.problems if p.verdict is Verdict.FAIL]
    return NullRuns(
        runs=len(played),
        alarms=tuple(found + missed),
        undecided=tuple(p.sentence for p in result.problems if p.verdict not in NO_DOUBT),
        result=result,
    )


def _play(stage: RunningCluster, *, runs: int, played: list[int]) -> None:
    for number in range(runs):
        _run_once(stage, number)
        played.append(number)


def _run_once(stage: RunningCluster, number: int) -> None:
    """Clients work on a topic of their own, and afterwards all of its replicas are in sync."""
    partitions = stage.create_topic(f"null-{number}", ASSIGNMENT)
    workload = Workload(
        stage.session, partitions, seed=stage.seed + number, first_client=1 + CLIENTS * number
    )
    workload.start()
    try:
        served = workload.await_acknowledged(REQUESTS, RUN_S)
    finally:
        workload.stop()
    if not served:
        raise ClusterError(f"null run {number}: no {REQUESTS} acknowledged in {RUN_S:g} s")
    stage.cluster.await_state(
        lambda: stage.cluster.is_healthy(partitions), RUN_S, f"full ISRs after null run {number}"
    )
