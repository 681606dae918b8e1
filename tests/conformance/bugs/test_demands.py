"""What a story demands is a debt of its run when it does not come, or does not last."""

from collections.abc import Iterable
from itertools import repeat
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest

from fencepost.conformance.adapters.errors import StepNotOfferedError
from fencepost.conformance.clients.administrator import RefusedError
from fencepost.conformance.clients.transport import REQUEST_UNKNOWN
from fencepost.conformance.runs.run_end import run_end
from fencepost.conformance.runs.running_cluster import RunningCluster
from fencepost.conformance.runs.scenario import RunRecord
from fencepost.conformance.scenarios.step_play import play_steps
from fencepost.fault_injection.stories.story_file import story_from_document
from fencepost.spec.trace import Kind
from fencepost.spec.vocabulary import Ending
from tests.conformance.checks.trace_builder import Trace


def unmet(step: dict[str, object], controllers: Iterable[int]) -> list[str]:
    """What the step demands in vain while these are controllers one after the other."""
    seen, found = iter(controllers), []
    cluster = SimpleNamespace(state=SimpleNamespace(controller=lambda: next(seen)))
    running = SimpleNamespace(
        brokers=(1, 2, 3), cluster=cluster, engine=SimpleNamespace(step=lambda: None)
    )
    story = story_from_document({"schema": 1, "id": "demands", "steps": [step]})
    play_steps(story, cast(RunningCluster, running), lambda sentence, _: found.append(sentence))
    return found


@pytest.mark.parametrize(
    ("step", "controllers", "found"),
    [
        ({"within_ms": 5}, repeat(1), ["not within 5 ms: controller=2; it is 1"]),
        ({"within_ms": 1000}, [1, 1, *[2] * 9], []),
        ({"for_ms": 100}, [2, 2, 2, 3, *[2] * 9], ["not for 100 ms: controller=2; it is 3"]),
        ({"for_ms": 10}, repeat(2), []),
    ],
)
def test_a_demand_is_noted_when_it_does_not_come_or_does_not_last(
    step: dict[str, object], controllers: Iterable[int], found: list[str]
) -> None:
    assert unmet({"must": {"controller": 2}, **step}, controllers) == [
        f"steps[0] (must): {line}" for line in found
    ]


def test_an_unmet_demand_fails_the_end_of_its_run() -> None:
    record, trace = RunRecord(), Trace()
    record.add_missed("not within 5 ms: controller=2; it is 1", None, Ending.DEMANDS)
    detail = msgspec.json.encode(record.ending).decode()
    trace.add("harness", Kind.RUN, "RunEnded", {"detail": detail})

    assert [one.invariant for one in run_end(trace.events).bad] == [Ending.DEMANDS]


def test_a_step_that_no_broker_offers_is_not_waited_for() -> None:
    def refuse(*_: object) -> None:
        raise RefusedError("the request", REQUEST_UNKNOWN, "")

    cluster = SimpleNamespace(
        state=None,
        administrator=SimpleNamespace(elect_all=refuse),
        settings=SimpleNamespace(implementation=SimpleNamespace(name="kafka:1.1.1")),
    )
    running = SimpleNamespace(
        brokers=(1,), cluster=cluster, engine=SimpleNamespace(step=lambda: None)
    )
    story = story_from_document({"schema": 1, "id": "asks", "steps": [{"elect": "orders/0"}]})

    with pytest.raises(StepNotOfferedError, match="takes no request for the step elect"):
        play_steps(story, cast(RunningCluster, running), lambda *_: None)
