"""One connection through the proxy: two sides, and a pipe for the bytes of each direction.

A stalled pipe stops reading, so its bytes wait in the kernel and neither end notices: also
the end of a connection waits. Nothing is ever taken out of the middle of a stream.
"""

import asyncio
import fcntl
import socket
import struct
import termios
from collections import deque
from collections.abc import Callable, Iterable
from random import Random
from typing import cast

from fencepost.fault_injection.network.active_rules import ActiveLinkRules
from fencepost.fault_injection.network.rules import Link, Treatment

QUEUE_MAX = 256 * 1024
"""Delayed bytes beyond which a pipe stops reading."""
PIECE_MAX = 1024
"""A narrow link gets bytes in pieces of at most so many, one after the other."""
ESTABLISHED = 1
"""From linux/tcp_states.h; otherwise the peer has closed, or is gone."""
_BUFFER = bytearray(64 * 1024)
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)

Cut = Callable[[bytes], Iterable[bytes]]
"""Looks at the bytes of a pipe and returns those that pass."""


class Side(asyncio.BufferedProtocol):
    """One end: the socket to a client or a server."""

    def __init__(
        self, on_made: "Callable[[Side], None]", on_lost: "Callable[[Side], None]"
    ) -> None:
        self.out: Pipe
        """By which leaves what arrives here."""
        self.into: Pipe
        """By which comes what is written here."""
        self.is_lost = False
        self.is_full = False
        """True while the kernel takes no more."""
        self._transport: asyncio.Transport | None = None
        self._on_made = on_made
        self._on_lost = on_lost

    @property
    def transport(self) -> asyncio.Transport:
        """Of the connection, once it is made."""
        assert self._transport is not None
        return self._transport

    @property
    def is_made(self) -> bool:
        """True from the connection's beginning on."""
        return self._transport is not None

    @property
    def socket(self) -> socket.socket:
        """For questions to the kernel only."""
        return cast(socket.socket, self.transport.get_extra_info("socket"))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Asyncio's; the connection exists."""
        self._transport = cast(asyncio.Transport, transport)
        self._on_made(self)

    def get_buffer(self, _size: int) -> bytearray:
        """Asyncio's; where bytes may be put. They are taken out at once, so one is enough."""
        return _BUFFER

    def buffer_updated(self, size: int) -> None:
        """Asyncio's; bytes have come."""
        self.out.take(bytes(_BUFFER[:size]))

    def eof_received(self) -> bool:
        """Asyncio's; the peer sends no more, but may still read."""
        self.out.finish()
        return True

    def connection_lost(self, error: Exception | None) -> None:
        """Asyncio's; there is no connection any more."""
        self.is_lost = True
        self.out.finish(is_reset=error is not None, is_gone=True)
        self._on_lost(self)

    def pause_writing(self) -> None:
        """Asyncio's; the kernel takes no more."""
        self.is_full = True
        self.into.update()

    def resume_writing(self) -> None:
        """Asyncio's; the kernel takes bytes again."""
        self.is_full = False
        self.into.update()

    def write(self, data: bytes) -> None:
        """Send bytes to the peer; they vanish when it is gone."""
        if self.is_made and not self.is_lost:
            self.transport.write(data)

    def write_eof(self) -> None:
        """Tell the peer that nothing more comes."""
        if self.is_made and not self.is_lost and self.transport.can_write_eof():
            self.transport.write_eof()

    def close(self) -> None:
        """End the connection after what was written."""
        if self.is_made and not self.is_lost:
            self.transport.close()

    def reset(self) -> None:
        """End the connection at once: the peer gets a reset, and nothing more."""
        if self.is_made and not self.is_lost:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            self.transport.abort()

    def waiting(self) -> int:
        """Bytes that the kernel has for us and that we do not read."""
        if not self.is_made or self.is_lost or self.transport.is_closing():
            return 0
        size = bytearray(4)
        fcntl.ioctl(self.socket.fileno(), termios.FIONREAD, size)
        return int.from_bytes(size, "little")

    def is_established(self) -> bool:
        """False when the peer has closed its end, whether or not we have read that far."""
        if self.is_lost or self.transport.is_closing():
            return False
        return self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == ESTABLISHED


class Pipe:
    """One direction of a connection."""

    def __init__(
        self, link: Link, source: Side, sink: Side, *, rules: ActiveLinkRules, seed: int
    ) -> None:
        self.link = link
        self.source = source
        self.sink = sink
        self.cut: Cut | None = None
        self.is_counted = True
        self.has_ended = False
        """True when the source sends no more."""
        self.is_finished = False
        """True when the sink has been told so."""
        self.passed = 0
        self.first_at: float | None = None
        """When the first byte passed, by the clock of the loop."""
        self._rules = rules
        self._random = Random(seed)
        self._treatment = rules.treatment(link)
        self._queue: deque[tuple[float, bytes]] = deque()
        self._queued = 0
        self._free_at = 0.0
        """When the last queued byte is due."""
        self._timer: asyncio.TimerHandle | None = None
        self._is_reading = True
        self._end: Callable[[], None] | None = None
        """What is to be done after the last byte."""

    @property
    def is_stalled(self) -> bool:
        """True while nothing passes."""
        return self._treatment.is_stalled

    def waiting(self) -> int:
        """Bytes that are held back."""
        return self._queued + self.source.waiting()

    def take(self, data: bytes) -> None:
        """Pass bytes on, now or later."""
        for piece in self.cut(data) if self.cut is not None else (data,):
            if self._treatment.is_plain and not self._queue and not self._free_at:
                self._pass(piece)
            else:
                self._delay(piece)

    def put_off(self, delay_ms: int) -> None:
        """Pass nothing that comes from now on before so many milliseconds."""
        at = asyncio.get_running_loop().time() + delay_ms / 1000
        self._free_at = max(at, self._free_at)

    def finish(self, *, is_reset: bool = False, is_gone: bool = False) -> None:
        """End the sink after the last byte, as the source has ended."""
        if is_reset:
            end = self.sink.reset
        elif is_gone:
            end = self.sink.close
        else:
            end = self.sink.write_eof
        self.has_ended = True
        if self._treatment.is_stalled or self._queue:
            self._end = end
            return
        self._finish(end)

    def apply(self, treatment: Treatment) -> None:
        """Treat bytes like this from now on."""
        was, self._treatment = self._treatment, treatment
        if treatment == was:
            return
        if not treatment.is_stalled:
            self._release(is_open=treatment.is_plain)
            self._finish_late()
        self.update()

    def update(self) -> None:
        """Read from the source, or pause."""
        reads = (
            self.sink.is_made
            and not self.sink.is_full
            and not self._treatment.is_stalled
            and self._queued < QUEUE_MAX
        )
        if reads == self._is_reading or self.has_ended:
            return
        if self.source.is_lost or not self.source.is_made:
            return
        self._is_reading = reads
        if reads:
            self.source.transport.resume_reading()
        else:
            self.source.transport.pause_reading()

    def _pass(self, data: bytes) -> None:
        if self.first_at is None:
            self.first_at = asyncio.get_running_loop().time()
        self.passed += len(data)
        self.sink.write(data)

    def _delay(self, data: bytes) -> None:
        """Queue bytes; each piece leaves after those before it."""
        now, treatment = asyncio.get_running_loop().time(), self._treatment
        late = treatment.delay_ms + self._random.uniform(0, treatment.jitter_ms)
        at = max(now + late / 1000, self._free_at)
        step = PIECE_MAX if treatment.kb_per_s else len(data)
        for start in range(0, len(data), step):
            piece = data[start : start + step]
            if treatment.kb_per_s:
                at += len(piece) / (treatment.kb_per_s * 1000)
            self._queue.append((at, piece))
        self._free_at = at
        self._queued += len(data)
        if self.is_counted:
            self._rules.delayed(self.link, len(data))
        self._set_timer()
        self.update()

    def _release(self, *, is_open: bool = False) -> None:
        """Pass what is due; all of it when nothing is to be late any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._treatment.is_stalled:
            return
        now = asyncio.get_running_loop().time()
        while self._queue and (is_open or self._queue[0][0] <= now):
            _, data = self._queue.popleft()
            self._queued -= len(data)
            self._pass(data)
        if not self._queue:
            self._free_at = 0.0
            self._finish_late()
        self._set_timer()
        self.update()

    def _set_timer(self) -> None:
        if self._queue and self._timer is None and not self._treatment.is_stalled:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(self._queue[0][0], self._release)

    def _finish_late(self) -> None:
        if self._end is not None and not self._queue:
            end, self._end = self._end, None
            self._finish(end)

    def _finish(self, end: Callable[[], None]) -> None:
        end()
        self.is_finished = True
        if self.source.into.is_finished:  # both have said all that they had to say
            self.source.close()
            self.sink.close()
