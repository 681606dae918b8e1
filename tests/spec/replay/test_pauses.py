"""What leaves the state of a replay at a pause changes no verdict, and long runs need no more."""

from dataclasses import replace
from itertools import groupby

import pytest

from fencepost.spec.replay.fields import Fields
from fencepost.spec.replay.pauses import NEVER, pauses_of
from fencepost.spec.replay.projection import Projection
from fencepost.spec.replay.tlc_run import Marker, run_tlc
from tests.spec.replay.test_corruptions import SEEDS, first_of_each, sound

OFTEN = 3
"""Events from one pause to the next, so that something leaves in the middle of everything."""


def verdicts(projections: list[Projection], stride: int) -> list[Marker]:
    """Of all of them, which TLC is given together when they have the same brokers."""
    return [
        marker
        for _, group in groupby(sorted(projections, key=brokers_of), key=brokers_of)
        for marker in in_order([replace(one, stride=stride) for one in group])
    ]


def brokers_of(projection: Projection) -> list[int]:
    return sorted(projection.brokers)


def in_order(projections: list[Projection]) -> list[Marker]:
    markers = run_tlc(projections)
    return sorted(markers, key=lambda marker: int(str(marker.values[0])))


def without_count(marker: Marker) -> Marker:
    """How many records had left is the last value of an accepted run."""
    return Marker(marker.name, marker.values[:2]) if marker.name == "accepted" else marker


@pytest.mark.long
@pytest.mark.tlc
def test_verdicts_are_the_same_where_records_leave() -> None:
    cases = [*sound(), *first_of_each()]
    projections = [one.partition for one in cases if one.partition is not None]

    kept, left = verdicts(projections, NEVER), verdicts(projections, OFTEN)

    assert [*map(without_count, left)] == [*map(without_count, kept)]
    accepted = [marker for marker in left if marker.name == "accepted"]
    assert len(SEEDS) <= len(accepted) < len(projections) / 2
    assert sum(int(str(marker.values[2])) > 0 for marker in accepted) > len(accepted) / 2
    assert all(marker.values[2] == 0 for marker in kept if marker.name == "accepted")


def test_a_pause_knows_what_is_named_later() -> None:
    events: list[Fields] = [
        {"action": "LeaderAppend", "offset": 0, "leader_epoch": 4},
        {"action": "ServeFetch", "offset": 7, "leader_epoch": 5},
        {"action": "AdvanceHighWatermark", "high_watermark": 3, "leader_epoch": 5},
        {"action": "LeaderAppend", "offset": 9, "leader_epoch": 6},
    ]

    assert pauses_of(events, 2) == (
        {"offset": 3, "leader_epoch": 5, "zxid": NEVER},
        {"offset": 9, "leader_epoch": 6, "zxid": NEVER},
    )


def test_a_broker_whose_disk_lost_all_begins_at_the_first_record() -> None:
    lost: Fields = {
        "action": "NodeStarted",
        "broker_id": 1,
        "is_recovered": False,
        "is_forgetful": True,
    }

    assert pauses_of([lost], 1) == ({"offset": 0, "leader_epoch": NEVER, "zxid": NEVER},)


def test_a_pause_knows_the_changes_of_the_configuration_that_are_heard_of_later() -> None:
    events: list[Fields] = [
        {"action": "ApplyMutation", "zxid": zxid} if zxid else {"action": "ZkConfigure", "zxid": 1}
        for zxid in (4, 9, 8, 0)
    ]

    assert [pause["zxid"] for pause in pauses_of(events, 1)] == [4, 8, 8, NEVER]
