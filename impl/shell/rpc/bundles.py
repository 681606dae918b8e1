"""Bundles: requests of one broker to another share one stream and travel many in a message.

A follower fetches each partition by itself, and the leader answers when there are records
(`impl/core/broker/fetcher.py`). All requests that gather while the stream is busy leave in the next
bundle. This module does not know their content; a lost stream loses the requests in flight.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from fencepost.spec.wire.replication_pb2 import Bundle, Parcel

BUNDLE_MAX = 1000
"""Parcels in one message."""
RECONNECT_S = 0.1
PARCELS_MAX = 100_000
"""Requests of one stream that may await their answer; more are refused unread."""


class Stream(Protocol):
    """What both ends of a gRPC stream offer."""

    async def read(self) -> object:
        """The next bundle; another value when the peer has closed the stream."""

    async def write(self, bundle: Bundle) -> None:
        """Send a bundle."""


class StreamLostError(Exception):
    """The stream has ended; requests in flight get no answer."""


class Sender:
    """Sends queued parcels in order, as many per bundle as have gathered."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._parcels: list[Parcel] = []
        self._is_waiting = asyncio.Event()

    def put(self, parcel: Parcel) -> None:
        """Queue the parcel."""
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
"""Called with the answer to one request, or None when none will come."""


class BundleStream:
    """The client side of a stream; after a loss the next request opens another one.

    A request costs a table entry, no task and no timer: one timer serves all deadlines.
    """

    def __init__(self, stream: Stream, close: Callable[[], object]) -> None:
        self._stream = stream
        self._close = close
        self._sender = Sender(stream)
        self._open: dict[int, tuple[Done, float]] = {}
        """Parcel id -> callback and deadline (seconds on the loop's clock)."""
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
        """Send a request; `done` is called exactly once, later. Raises `StreamLostError`."""
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
        """Cancel the stream."""
        for task in self._tasks:
            task.cancel()
        self._close()

    async def _receive(self) -> None:
        while isinstance(bundle := await self._stream.read(), Bundle):
            for parcel in bundle.parcels:
                self._end(parcel.parcel_id, parcel)

    def _end(self, parcel_id: int, parcel: Parcel | None) -> None:
        """Call back for this request, unless that has happened."""
        found = self._open.pop(parcel_id, None)
        if found is not None:
            found[0](parcel)

    def _look_at(self, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(deadline, self._end_late)

    def _end_late(self) -> None:
        """Fail expired requests and re-arm the timer."""
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
            task.exception()  # reported to each request as a missing answer
        if self._timer is not None:
            self._timer.cancel()
        for parcel_id in list(self._open):
            self._end(parcel_id, None)
        self.close()


class PeerConnection:
    """The stream to one broker, opened on demand; requests wait while it opens.

    A thousand partitions that lost their leader make one attempt to reach it, not a thousand.
    """

    def __init__(self, connect: Callable[[], Awaitable[BundleStream]]) -> None:
        """`connect` raises `StreamLostError` when the broker cannot be reached now."""
        self._connect = connect
        self._stream: BundleStream | None = None
        self._opening: asyncio.Task[BundleStream | None] | None = None
        self._waiting: dict[asyncio.Future[BundleStream | None], None] = {}
        """Callers that wait for the stream, in order of arrival."""

    @property
    def stream(self) -> BundleStream | None:
        """The open stream, if there is one now."""
        return None if self._stream is None or self._stream.is_lost else self._stream

    async def ask(self, method: str, body: bytes, lamport: int, timeout_s: float) -> Parcel:
        """The answer to one request over an open stream; raises `StreamLostError`."""
        stream = await self._open_one()
        if stream is None:
            raise StreamLostError("the attempt to open the stream was given up")
        return await stream.ask(method, body, lamport, timeout_s)

    def close(self) -> None:
        """Cancel the stream and any attempt to open one."""
        if self._opening is not None:
            self._opening.cancel()
        if self._stream is not None:
            self._stream.close()

    async def _open_one(self) -> BundleStream | None:
        if self.stream is not None:
            return self.stream
        # Not `asyncio.shield`: a waiter that gives up would search all callbacks of the task.
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
        """Pass the result to all waiters, unless another attempt has begun."""
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
        """Retry while requests wait; each has its own timeout."""
        while self._waiting:
            try:
                self._stream = await self._connect()
            except StreamLostError:
                await asyncio.sleep(RECONNECT_S)
            else:
                return self._stream
        return None


Take = Callable[[Parcel, Callable[[Parcel], None]], None]
"""Takes a request and the callback for its answer."""


async def serve(stream: Stream, take: Take) -> None:
    """Pass each arriving parcel to `take` and send the answers, until the stream ends."""
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
