"""Where somebody who is no broker writes what is theirs, a run leaves the spec: it ends there."""

import json

from fault_injection.admin_faults import KickController
from impl.sim.cluster import Cluster
from spec.replay.ordering import total_order
from spec.replay.projection import Projection, partitions_of_run, project
from spec.replay.recorded_run import Line, as_lines, recorded_run
from spec.trace import TRACE_VERSION, Kind
from tests.impl.sim.build import calm, inject, run_for, settled, topic

LEVEL = 2


def run_with_a_kick() -> list[Line]:
    cluster = Cluster(calm((100, KickController())), "run")
    started = json.dumps({"trace_version": TRACE_VERSION, "level": LEVEL})
    harness = cluster.recorder.node("start")
    harness.write({"kind": Kind.RUN, "action": "RunStarted", "detail": started})
    topic(cluster)
    assert settled(cluster)
    inject(cluster)
    run_for(cluster, 2_000)
    harness.write({"kind": Kind.RUN, "action": "RunEnded", "detail": "{}"})
    return list(as_lines(cluster.recorder.events))


def projected(lines: list[Line]) -> Projection:
    ordered = total_order(recorded_run("run", lines))
    ((key, assigned),) = partitions_of_run(ordered).items()
    return project("run", LEVEL, ordered, key, assigned)


def actions(projection: Projection) -> list[object]:
    return [event.fields["action"] for event in projection.events]


def test_a_run_ends_where_a_stranger_deposes_the_controller_and_says_so() -> None:
    lines = run_with_a_kick()
    silent = [line for line in lines if line.event.kind is not Kind.FAULT]

    told, untold = actions(projected(lines)), actions(projected(silent))
    assert untold[: len(told)] == told
    # Without the fault in the trace it is a deletion that the spec does not have.
    assert untold[len(told)] == "Unknown"
