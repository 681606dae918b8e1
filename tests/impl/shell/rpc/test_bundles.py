"""Requests that travel together: answers find them, and a lost stream leaves none open."""

import asyncio
from collections.abc import Callable

import pytest

from fencepost.impl.shell.rpc import bundles
from fencepost.impl.shell.rpc.bundles import BundleStream, PeerConnection, StreamLostError, serve
from fencepost.spec.wire.replication_pb2 import Bundle, Parcel

LONG_S = 60.0
Answer = Callable[[Parcel], None]


class Pipe:
    """One end of a stream in memory."""

    def __init__(self) -> None:
        self.inbox: asyncio.Queue[object] = asyncio.Queue()
        self.peer: Pipe = self
        self.sizes: list[int] = []
        self.error: Exception | None = None

    async def read(self) -> object:
        return await self.inbox.get()

    async def write(self, bundle: Bundle) -> None:
        if self.error:
            raise self.error
        self.sizes.append(len(bundle.parcels))
        self.peer.inbox.put_nowait(bundle)

    def close(self) -> None:
        self.inbox.put_nowait(None)
        self.peer.inbox.put_nowait(None)


def pipes() -> tuple[Pipe, Pipe]:
    one, other = Pipe(), Pipe()
    one.peer, other.peer = other, one
    return one, other


def echo(parcel: Parcel, answer: Answer) -> None:
    answer(Parcel(parcel_id=parcel.parcel_id, body=parcel.body, lamport=parcel.lamport + 1))


def test_what_gathers_meanwhile_travels_together_and_each_has_its_answer() -> None:
    async def scenario() -> None:
        near, far = pipes()
        courier = BundleStream(near, near.close)
        serving = asyncio.create_task(serve(far, echo))

        bodies = [str(number).encode() for number in range(2 * bundles.BUNDLE_MAX)]
        found = await asyncio.gather(*(courier.ask("Fetch", body, 6, LONG_S) for body in bodies))

        assert [(parcel.body, parcel.lamport) for parcel in found] == [(b, 7) for b in bodies]
        assert near.sizes == [bundles.BUNDLE_MAX] * 2
        courier.close()
        await serving

    asyncio.run(scenario())


def test_answers_come_in_any_order() -> None:
    async def scenario() -> None:
        near, far = pipes()
        courier = BundleStream(near, near.close)
        open_ones: list[tuple[Parcel, Answer]] = []

        def keep(parcel: Parcel, answer: Answer) -> None:
            open_ones.append((parcel, answer))
            if len(open_ones) == 2:
                for one, reply in reversed(open_ones):
                    echo(one, reply)

        serving = asyncio.create_task(serve(far, keep))
        first, second = await asyncio.gather(
            courier.ask("F", b"1", 0, LONG_S), courier.ask("F", b"2", 0, LONG_S)
        )

        assert (first.body, second.body) == (b"1", b"2")
        courier.close()
        await serving

    asyncio.run(scenario())


@pytest.mark.parametrize("is_refused", [True, False])
def test_a_lost_stream_answers_nobody_and_takes_no_more(is_refused: bool) -> None:
    async def scenario() -> None:
        near, far = pipes()
        courier = BundleStream(near, near.close)
        if is_refused:
            near.error = OSError("connection refused")
        asked = asyncio.create_task(courier.ask("F", b"1", 0, LONG_S))
        if not is_refused:
            await far.read()
            far.close()

        with pytest.raises(StreamLostError):
            await asked

        assert courier.is_lost
        with pytest.raises(StreamLostError):
            await courier.ask("F", b"2", 0, LONG_S)

    asyncio.run(scenario())


def test_an_answer_that_nobody_waits_for_is_dropped() -> None:
    async def scenario() -> None:
        near, far = pipes()
        courier = BundleStream(near, near.close)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(courier.ask("F", b"late", 0, LONG_S), 0)
        serving = asyncio.create_task(serve(far, echo))

        assert (await courier.ask("F", b"next", 0, LONG_S)).body == b"next"
        courier.close()
        await serving

    asyncio.run(scenario())


def test_who_asks_is_told_once_when_no_answer_comes_in_time() -> None:
    async def scenario() -> None:
        near, far = pipes()
        courier = BundleStream(near, near.close)
        told: list[tuple[str, Parcel | None]] = []
        late = asyncio.Event()

        def note(name: str) -> Callable[[Parcel | None], None]:
            def done(parcel: Parcel | None) -> None:
                told.append((name, parcel))
                late.set()

            return done

        courier.begin("F", b"1", 0, LONG_S, note("long"))
        courier.begin("F", b"2", 0, 0.0, note("short"))
        await late.wait()
        assert told == [("short", None)]

        bundle = await far.read()
        assert isinstance(bundle, Bundle)
        await far.write(Bundle(parcels=[Parcel(parcel_id=one.parcel_id) for one in bundle.parcels]))
        late.clear()
        await late.wait()
        assert [name for name, _ in told] == ["short", "long"]
        courier.close()

    asyncio.run(scenario())


def test_many_that_wait_for_a_broker_are_one_attempt_to_reach_it() -> None:
    async def scenario() -> None:
        near, far = pipes()
        attempts: list[bool] = []

        async def connect() -> BundleStream:
            attempts.append(len(attempts) == 1)
            if not attempts[-1]:
                raise StreamLostError("connection refused")
            return BundleStream(near, near.close)

        line = PeerConnection(connect)
        serving = asyncio.create_task(serve(far, echo))

        found = await asyncio.gather(*(line.ask("F", b"1", 0, LONG_S) for _ in range(50)))

        assert [parcel.body for parcel in found] == [b"1"] * 50
        assert attempts == [False, True]
        line.close()
        await serving

    asyncio.run(scenario())


def test_a_broker_of_which_no_answer_is_awaited_is_not_tried_again() -> None:
    async def scenario() -> None:
        attempts: list[None] = []
        told: list[Parcel | None] = []

        async def connect() -> BundleStream:
            attempts.append(None)
            raise StreamLostError("connection refused")

        line = PeerConnection(connect)
        line.begin("F", b"1", 0, 0.0, told.append)
        opening = line._opening
        assert opening is not None

        assert await opening is None
        assert told == [None]
        assert len(attempts) <= 1

    asyncio.run(scenario())


def test_a_request_waits_for_the_stream_and_ends_at_its_deadline() -> None:
    async def scenario() -> None:
        near, far = pipes()
        is_there, late = asyncio.Event(), asyncio.Event()
        told: list[tuple[str, bytes | None]] = []

        async def connect() -> BundleStream:
            await is_there.wait()
            return BundleStream(near, near.close)

        def note(name: str) -> Callable[[Parcel | None], None]:
            def done(parcel: Parcel | None) -> None:
                told.append((name, None if parcel is None else parcel.body))
                late.set()

            return done

        line = PeerConnection(connect)
        serving = asyncio.create_task(serve(far, echo))
        line.begin("F", b"1", 0, LONG_S, note("long"))
        line.begin("F", b"2", 0, 0.0, note("short"))
        await late.wait()
        assert told == [("short", None)]

        late.clear()
        is_there.set()
        await late.wait()
        assert told == [("short", None), ("long", b"1")]
        assert near.sizes == [1]
        line.close()
        await serving

    asyncio.run(scenario())


def test_what_waits_for_a_connection_that_closes_gets_no_answer() -> None:
    async def scenario() -> None:
        async def connect() -> BundleStream:
            await asyncio.Event().wait()
            raise AssertionError("the event is never set")

        line = PeerConnection(connect)
        asked = asyncio.create_task(line.ask("F", b"1", 0, LONG_S))
        await asyncio.sleep(0)
        line.close()

        with pytest.raises(StreamLostError):
            await asked

    asyncio.run(scenario())


def test_too_many_that_wait_are_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "PARCELS_MAX", 1)

    async def scenario() -> None:
        near, far = pipes()
        courier = BundleStream(near, near.close)
        taken: list[Parcel] = []
        serving = asyncio.create_task(serve(far, lambda parcel, _answer: taken.append(parcel)))
        waits = asyncio.create_task(courier.ask("F", b"1", 0, LONG_S))

        refused = await asyncio.create_task(courier.ask("F", b"2", 0, LONG_S))

        assert refused.error
        assert [parcel.body for parcel in taken] == [b"1"]
        courier.close()
        with pytest.raises(StreamLostError):
            await waits
        await serving

    asyncio.run(scenario())
