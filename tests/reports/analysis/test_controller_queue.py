"""How many partitions wait for the controller, and for how long."""

from fencepost.reports.analysis.tenures import BINS, Creation, Tenure, creations_of
from fencepost.reports.analysis.timelines import QueueColumn, controller_queue
from tests.conformance.checks.trace_builder import Trace

MS = 1_000_000
SPAN_NS = (0, BINS * MS)
"""Each column of the picture is one millisecond."""


def tenure(partition: int, decided: int | None, told: int | None, epoch: int = 0) -> Tenure:
    """Its leader is decided and told after so many milliseconds."""
    return Tenure(
        folder=0,
        topic="t",
        partition=partition,
        leader_epoch=epoch,
        leader=1,
        decided_ns=None if decided is None else decided * MS,
        published_ns=None,
        told_ns=None if told is None else told * MS,
        leading_ns=None,
        first_acknowledged_ns=None,
        last_acknowledged_ns=None,
    )


def created(*at_ms: int) -> list[Creation]:
    return [Creation(folder=0, topic="t", mono_ns=at * MS) for at in at_ms]


def seen(columns: tuple[QueueColumn, ...]) -> dict[int, tuple[int, float]]:
    return {one.column: (one.waiting, one.longest_ms) for one in columns}


def test_partition_waits_from_the_creation_of_its_topic_until_its_leader_is_told() -> None:
    waits = [tenure(0, 4, 5), tenure(1, 4, 6)]

    columns = seen(controller_queue(waits, created(3), SPAN_NS))

    assert columns == {3: (2, 0), 4: (2, 0), 5: (2, 2), 6: (1, 3)}


def test_later_leader_waits_from_its_decision() -> None:
    assert seen(controller_queue([tenure(0, 7, 9, epoch=1)], created(3), SPAN_NS)) == {
        7: (1, 0),
        8: (1, 0),
        9: (1, 2),
    }


def test_topic_that_comes_again_waits_from_its_own_creation() -> None:
    columns = seen(controller_queue([tenure(0, 8, 9)], created(1, 7, 20), SPAN_NS))

    assert columns == {7: (1, 0), 8: (1, 0), 9: (1, 2)}


def test_what_is_not_told_or_not_decided_is_no_wait() -> None:
    lacking = [tenure(0, 4, None), tenure(1, None, 5), tenure(2, 6, 5)]

    assert controller_queue(lacking, created(3), SPAN_NS) == ()


def test_what_is_told_at_the_end_of_a_run_is_in_its_last_column() -> None:
    last = BINS - 1

    assert seen(controller_queue([tenure(0, last, BINS)], (), SPAN_NS)) == {last: (1, 1)}


def test_creations_are_those_that_brokers_tell() -> None:
    trace = Trace()
    trace.broker(1, "CreateTopic", topic="t", partition=None)
    trace.broker(1, "DeleteTopic", topic="t", partition=None)

    assert [(one.folder, one.topic) for one in creations_of(3, trace.events)] == [(3, "t")]
