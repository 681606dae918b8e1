"""Requests of one broker to another that travel together: many partitions, one message.

A follower asks for each partition by itself, and its leader answers each when there is something to
tell (`impl/core/broker/fetcher.py`). Between two brokers all of that goes through one stream: what
is to be sent when the stream is free for the next message leaves in one bundle. Nothing here knows
what the requests say; a lost stream loses what was under way in it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from fencepost.spec.wire.replication_pb2 import Bundle, Parcel

BUNDLE_MAX = 1000
"""Parcels in one message."""
RECONNECT_S = 0.1
PARCELS_MAX = 100_000
"""Parcels of one stream that may wait for their answer; more are refused unread."""


class Stream(Protocol):
    """What both ends of a gRPC stream offer."""

    async def read(self) -> object:
        """The next bundle; something else when the peer has closed the stream."""

    async def write(self, bundle: Bundle) -> None:
        """Send a bundle."""


class StreamLostError(Exception):
    """The stream is over; what was under way in it has no answer."""


class Sender:
    """Parcels leave in order, as many together as have gathered."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._parcels: list[Parcel] = []
        self._is_waiting = asyncio.Event()

    def put(self, parcel: Parcel) -> None:
        """The parcel leaves soon."""
        self._parcels.append(parcel)
        self._is_waiting.set()

    async def run(self) -> None:
        """Send until cancelled, or until the stream fails."""
        while True:
            await self._is_waiting.wait()
            parcels, self._parcels = self._parcels, []
            self._is_waiting.clear()
            for begin in range(0, len(parcels), BUNDLE_MAX):
                await self._stream.write(Bundle(parcels=parcels[begin : begin + BUNDLE_MAX]))


Done = Callable[[Parcel | None], None]
"""Is told the answer to one request, or None when none will come."""


class BundleStream:
    """The asking end of a stream; when it is lost, whoever asks next opens another one.

    A request costs an entry in a table, no task and no timer: one timer stands for all of them.
    """

    def __init__(self, stream: Stream, close: Callable[[], object]) -> None:
        self._stream = stream
        self._close = close
        self._sender = Sender(stream)
        self._open: dict[int, tuple[Done, float]] = {}
        """Parcel id -> who is told, and until when that must be, on the loop's clock."""
        self._last_id = 0
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self.is_lost = False
        self._tasks = [
            asyncio.create_task(self._sender.run()),
            asyncio.create_task(self._receive()),
        ]
        for task in self._tasks:
            task.add_done_callback(self._lose)

    def begin(self, method: str, body: bytes, lamport: int, timeout_s: float, done: Done) -> None:
        """Ask; `done` is called exactly once, later. Raises `StreamLostError`."""
        if self.is_lost:
            raise StreamLostError("the stream is lost")
        self._last_id += 1
        parcel_id = self._last_id
        deadline = self._loop.time() + timeout_s
        self._open[parcel_id] = done, deadline
        if self._timer is None or deadline < self._timer.when():
            self._look_at(deadline)
        self._sender.put(Parcel(parcel_id=parcel_id, method=method, body=body, lamport=lamport))

    async def ask(self, method: str, body: bytes, lamport: int, timeout_s: float) -> Parcel:
        """The answer to one request; raises `StreamLostError` when none comes in time."""
        answer: asyncio.Future[Parcel] = self._loop.create_future()

        def done(parcel: Parcel | None) -> None:
            if answer.done():
                return
            if parcel is None:
                answer.set_exception(StreamLostError("no answer will come"))
            else:
                answer.set_result(parcel)

        self.begin(method, body, lamport, timeout_s, done)
        return await answer

    def close(self) -> None:
        """The stream is over."""
        for task in self._tasks:
            task.cancel()
        self._close()

    async def _receive(self) -> None:
        while isinstance(bundle := await self._stream.read(), Bundle):
            for parcel in bundle.parcels:
                self._end(parcel.parcel_id, parcel)

    def _end(self, parcel_id: int, parcel: Parcel | None) -> None:
        """Who asked is told, unless that was before."""
        found = self._open.pop(parcel_id, None)
        if found is not None:
            found[0](parcel)

    def _look_at(self, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(deadline, self._end_late)

    def _end_late(self) -> None:
        """Those whose time is over are told; the timer stands for the next of the others."""
        self._timer = None
        now = self._loop.time()
        late = [parcel_id for parcel_id, (_, deadline) in self._open.items() if deadline <= now]
        for parcel_id in late:
            self._end(parcel_id, None)
        if self._open and not self.is_lost:
            self._look_at(min(deadline for _, deadline in self._open.values()))

    def _lose(self, task: asyncio.Task[None]) -> None:
        if self.is_lost:
            return
        self.is_lost = True
        if not task.cancelled():
            task.exception()  # it is told as a request without an answer
        if self._timer is not None:
            self._timer.cancel()
        for parcel_id in list(self._open):
            self._end(parcel_id, None)
        self.close()


class PeerConnection:
    """The way to one broker: while it is not open, whoever asks waits for it.

    A thousand partitions that lost their leader are one attempt to reach it, not a thousand.
    """

    def __init__(self, connect: Callable[[], Awaitable[BundleStream]]) -> None:
        """`connect` raises `StreamLostError` when the broker cannot be reached now."""
        self._connect = connect
        self._courier: BundleStream | None = None
        self._opening: asyncio.Task[BundleStream | None] | None = None
        self._waiting: dict[asyncio.Future[BundleStream | None], None] = {}
        """A set, in order of arrival."""

    @property
    def courier(self) -> BundleStream | None:
        """The open stream, if there is one now."""
        return None if self._courier is None or self._courier.is_lost else self._courier

    async def ask(self, method: str, body: bytes, lamport: int, timeout_s: float) -> Parcel:
        """The answer to one request over an open stream; raises `StreamLostError`."""
        courier = await self._open_one()
        if courier is None:
            raise StreamLostError("nobody waited for the stream")
        return await courier.ask(method, body, lamport, timeout_s)

    def close(self) -> None:
        """There is no stream, and none is opened."""
        if self._opening is not None:
            self._opening.cancel()
        if self._courier is not None:
            self._courier.close()

    async def _open_one(self) -> BundleStream | None:
        if self.courier is not None:
            return self.courier
        # Not `asyncio.shield`: each waiter that gives up would look through all of them.
        waiter: asyncio.Future[BundleStream | None] = asyncio.get_running_loop().create_future()
        self._waiting[waiter] = None
        if self._opening is None or self._opening.done():
            self._opening = asyncio.create_task(self._open())
            self._opening.add_done_callback(self._opened)
        try:
            return await waiter
        finally:
            self._waiting.pop(waiter, None)

    def _opened(self, opening: asyncio.Task[BundleStream | None]) -> None:
        """Who waits hears how it ended, unless there is another attempt already."""
        if opening is not self._opening:
            return
        for waiter in self._waiting:
            if waiter.done():
                continue
            error = None if opening.cancelled() else opening.exception()
            if opening.cancelled():
                waiter.cancel()
            elif error is not None:
                waiter.set_exception(error)
            else:
                waiter.set_result(opening.result())

    async def _open(self) -> BundleStream | None:
        """Tried again as long as somebody waits, each of whom gives up by himself."""
        while self._waiting:
            try:
                self._courier = await self._connect()
            except StreamLostError:
                await asyncio.sleep(RECONNECT_S)
            else:
                return self._courier
        return None


Take = Callable[[Parcel, Callable[[Parcel], None]], None]
"""Takes a request and where its answer goes."""


async def serve(stream: Stream, take: Take) -> None:
    """Give every parcel that arrives to `take`, and send back the answers, until the end."""
    sender = Sender(stream)
    sending = asyncio.create_task(sender.run())
    open_ids: set[int] = set()

    def answer(parcel: Parcel) -> None:
        if parcel.parcel_id in open_ids:
            open_ids.discard(parcel.parcel_id)
            sender.put(parcel)

    try:
        while isinstance(bundle := await stream.read(), Bundle):
            for parcel in bundle.parcels:
                open_ids.add(parcel.parcel_id)
                if len(open_ids) > PARCELS_MAX:
                    answer(Parcel(parcel_id=parcel.parcel_id, error="too many requests wait"))
                    continue
                take(parcel, answer)
    finally:
        open_ids.clear()
        sending.cancel()
