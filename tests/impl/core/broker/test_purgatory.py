"""Requests that wait: taken once, in order of arrival."""

from fencepost.impl.core.broker.purgatory import DelayedFetch, DelayedProduce, Purgatory
from fencepost.impl.core.types.messages import FetchRequest
from fencepost.spec.vocabulary import LeaderEpoch, Offset


def produce(token: int, end: int, deadline_ms: int = 100) -> DelayedProduce:
    return DelayedProduce(
        token=token,
        base_offset=Offset(end - 1),
        end_offset=Offset(end),
        leader_epoch=LeaderEpoch(0),
        deadline_ms=deadline_ms,
    )


def fetch(token: int, deadline_ms: int) -> DelayedFetch:
    request = FetchRequest(topic="t", partition=0, fetch_offset=Offset(0))
    return DelayedFetch(token=token, request=request, deadline_ms=deadline_ms)


def test_committed_produces_end_at_or_below_the_high_watermark() -> None:
    waiting = Purgatory(produces=[produce(1, 1), produce(2, 2), produce(3, 3)])

    assert [p.token for p in waiting.committed(Offset(2))] == [1, 2]
    assert waiting.committed(Offset(2)) == []
    assert [p.token for p in waiting.take_produces()] == [3]
    assert waiting.produces == []


def test_produces_expire_at_their_deadline() -> None:
    waiting = Purgatory(produces=[produce(1, 1, 100), produce(2, 2, 99), produce(3, 3, 101)])

    assert waiting.expired_produces(98) == []
    assert [p.token for p in waiting.expired_produces(100)] == [1, 2]
    assert [p.token for p in waiting.produces] == [3]


def test_fetches_expire_at_their_deadline_or_are_taken_all() -> None:
    waiting = Purgatory(fetches=[fetch(1, 100), fetch(2, 99), fetch(3, 101)])

    assert [f.token for f in waiting.expired_fetches(100)] == [1, 2]
    assert [f.token for f in waiting.take_fetches()] == [3]
    assert waiting.take_fetches() == []
