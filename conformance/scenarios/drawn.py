"""Faults that are drawn from the seed: in Python, since a file says what is the same every time."""

from fencepost.conformance.runs.running_cluster import RunningCluster
from fencepost.conformance.runs.scenario import Scenario
from fencepost.fault_injection.stories.drawn_story import draw_story
from fencepost.fault_injection.stories.story import Story

RANDOM_MS = 12_000
"""Length of the drawn schedule, its quiet tail included."""


def _play(stage: RunningCluster) -> None:
    schedule = draw_story(
        stage.seed,
        brokers=stage.cluster.settings.broker_ids,
        duration_ms=RANDOM_MS,
        session_timeout_ms=stage.cluster.session_timeout_ms,
    )
    stage.engine.run(schedule)


SCENARIO = Scenario(
    story=Story(
        story_id="random",
        says="Faults drawn from the seed hit brokers, sessions and requests.",
        covers=("CLI-004", "FAIL-008", "REPL-004", "REPL-009"),
    ),
    play=_play,
)
