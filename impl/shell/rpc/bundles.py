"""Bundles: requests of one broker to another share one stream and travel many in a message.

A follower fetches each partition by itself, and the leader answers when there are records
(`impl/core/broker/fetcher.py`). All requests that gather while the stream is busy leave in the next
bundle. This module does not know their content; a lost stream loses the requests in flight.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

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


class OpenRequest(NamedTuple):
    """A request that has no answer yet."""

    method: str
    body: bytes
    lamport: int
    deadline: float
    """In seconds on the loop's clock."""
    done: Done


class OpenRequests:
    """The requests without an answer: a table entry each, and one timer for all deadlines."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._open: dict[int, OpenRequest] = {}
        self._last_id = 0
        self._timer: asyncio.TimerHandle | None = None

    def __bool__(self) -> bool:
        return bool(self._open)

    def add(self, request: OpenRequest) -> int:
        """Its number, by which `end` knows it; it ends without an answer at its deadline."""
        self._last_id += 1
        self._open[self._last_id] = request
        if self._timer is None or request.deadline < self._timer.when():
            self._look_at(request.deadline)
        return self._last_id

    def end(self, parcel_id: int, parcel: Parcel | None) -> None:
        """Call back for this request, unless that has happened."""
        found = self._open.pop(parcel_id, None)
        if found is not None:
            found.done(parcel)

    def take_all(self) -> list[OpenRequest]:
        """All requests, in order; there are none here any more."""
        requests = list(self._open.values())
        self._open.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        return requests

    def _look_at(self, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(deadline, self._end_late)

    def _end_late(self) -> None:
        """Fail expired requests and re-arm the timer."""
        self._timer = None
        now = self._loop.time()
        late = [number for number, request in self._open.items() if request.deadline <= now]
        for number in late:
            self.end(number, None)
        if self._open:
            self._look_at(min(request.deadline for request in self._open.values()))


class Carrier(ABC):
    """Takes requests; each costs a table entry, no task and no timer, until it is over."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._open = OpenRequests(self._loop)

    def begin(self, method: str, body: bytes, lamport: int, timeout_s: float, done: Done) -> None:
        """Send a request; `done` is called exactly once, later. Raises `StreamLostError`."""
        self.take(OpenRequest(method, body, lamport, self._loop.time() + timeout_s, done))

    @abstractmethod
    def take(self, request: OpenRequest) -> None:
        """As `begin`, of a request with its deadline."""

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

    def _end_all(self) -> None:
        """No answer will come to any request."""
        for request in self._open.take_all():
            request.done(None)


class BundleStream(Carrier):
    """The client side of a stream; after a loss the next request opens another one."""

    def __init__(self, stream: Stream, close: Callable[[], object]) -> None:
        super().__init__()
        self._stream = stream
        self._close = close
        self._sender = Sender(stream)
        self.is_lost = False
        self._tasks = [
            asyncio.create_task(self._sender.run()),
            asyncio.create_task(self._receive()),
        ]
        for task in self._tasks:
            task.add_done_callback(self._lose)

    def take(self, request: OpenRequest) -> None:
        """The request is in the next bundle; raises `StreamLostError`."""
        if self.is_lost:
            raise StreamLostError("the stream is lost")
        method, body, lamport, _, _ = request
        parcel_id = self._open.add(request)
        self._sender.put(Parcel(parcel_id=parcel_id, method=method, body=body, lamport=lamport))

    def close(self) -> None:
        """Cancel the stream."""
        for task in self._tasks:
            task.cancel()
        self._close()

    async def _receive(self) -> None:
        while isinstance(bundle := await self._stream.read(), Bundle):
            for parcel in bundle.parcels:
                self._open.end(parcel.parcel_id, parcel)

    def _lose(self, task: asyncio.Task[None]) -> None:
        if self.is_lost:
            return
        self.is_lost = True
        if not task.cancelled():
            task.exception()  # reported to each request as a missing answer
        self._end_all()
        self.close()


class PeerConnection(Carrier):
    """The stream to one broker, opened on demand; requests wait while it opens.

    A thousand partitions that lost their leader make one attempt to reach it, not a thousand.
    """

    def __init__(self, connect: Callable[[], Awaitable[BundleStream]]) -> None:
        """`connect` raises `StreamLostError` when the broker cannot be reached now."""
        super().__init__()
        self._connect = connect
        self._stream: BundleStream | None = None
        self._opening: asyncio.Task[BundleStream | None] | None = None

    @property
    def stream(self) -> BundleStream | None:
        """The open stream, if there is one now."""
        return None if self._stream is None or self._stream.is_lost else self._stream

    def take(self, request: OpenRequest) -> None:
        """The request leaves on the stream, as soon as there is one."""
        stream = self.stream
        if stream is not None:
            stream.take(request)
            return
        self._open.add(request)
        if self._opening is None:
            self._opening = asyncio.create_task(self._open_stream())
            self._opening.add_done_callback(self._opened)

    def close(self) -> None:
        """Cancel the stream and any attempt to open one."""
        if self._opening is not None:
            self._opening.cancel()
        if self._stream is not None:
            self._stream.close()

    def _opened(self, opening: asyncio.Task[BundleStream | None]) -> None:
        """What has waited leaves; what came after the last attempt begins another one."""
        self._opening = None
        if opening.cancelled():
            self._end_all()
            return
        self._stream = opening.result()
        for request in self._open.take_all():
            self.take(request)

    async def _open_stream(self) -> BundleStream | None:
        """Retry while requests wait; each has its own deadline."""
        while self._open:
            try:
                return await self._connect()
            except StreamLostError:
                await asyncio.sleep(RECONNECT_S)
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
