"""An adapter at work: each call is a line to it, each answer a line from it.

Calls of several threads may wait at once. An adapter that ends, or that writes what is no answer,
is killed and answers nothing more: every call from then on raises the same `AdapterError`.
"""

import os
import select
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from functools import cache
from itertools import count
from threading import Lock, Thread
from time import monotonic
from typing import TypeVar

import msgspec
from msgspec import structs

from fencepost.conformance.adapters.remote.channels import (
    LACKS_VERB,
    LAST_LINES,
    AdapterError,
    Channel,
)
from fencepost.conformance.adapters.remote.messages import (
    LINE_BYTES_MAX,
    ByeCall,
    Call,
    Done,
    HelloAnswer,
    HelloCall,
    Refused,
    Unsupported,
)

QUOTED_CHARACTERS = 300
CHUNK_BYTES = 1 << 16
POLL_MS = 100
AnswerType = TypeVar("AnswerType", bound=Done)


class AdapterTimeoutError(AdapterError):
    """A call was not answered in time; the adapter may answer the next one."""


class _Envelope(msgspec.Struct, frozen=True):
    id: int
    status: str


class Adapter:
    """One run of an adapter, which has said hello."""

    def __init__(self, channel: Channel) -> None:
        """Greet what is at the other end; raises `AdapterError`."""
        self._channel = channel
        self._lock, self._writing = Lock(), Lock()
        self._numbers = count(1)
        self._waiting: dict[int, tuple[str, Future[bytes]]] = {}
        self._given_up: set[int] = set()
        self._written: deque[str] = deque(maxlen=LAST_LINES)
        self._failure = ""
        self._reader = Thread(target=self._read, name="adapter", daemon=True)
        self._reader.start()
        try:
            self.greeting = self.require(HelloCall(), HelloAnswer)
        except AdapterError:
            self.close()
            raise

    @property
    def failure(self) -> str:
        """Why it will answer no call; empty while it may."""
        return self._failure

    @property
    def has_failed(self) -> bool:
        """True when it will answer no call."""
        return bool(self._failure)

    def require(self, call: Call, answer: type[AnswerType]) -> AnswerType:
        """The answer to a call that every adapter must do in time; raises `AdapterError`."""
        try:
            found = self.ask(call, answer)
        except AdapterTimeoutError as late:
            raise self.fail(str(late)) from late
        match found:
            case Refused(error_code=code, message=message):
                raise AdapterError(f"the adapter refused {call.verb}: {code} {message}".rstrip())
            case Unsupported():
                raise AdapterError(f"the adapter does not support {call.verb}, {LACKS_VERB}")
            case done:
                return done

    def ask(self, call: Call, answer: type[AnswerType]) -> AnswerType | Refused | Unsupported:
        """What it answers; raises `AdapterError`, of which `AdapterTimeoutError` may pass."""
        deadline = monotonic() + call.deadline_ms / 1000
        line = self._answer_line(call, deadline)
        try:
            return _decoder(answer).decode(line)
        except msgspec.MsgspecError as error:
            fields = ", ".join(field.name for field in structs.fields(answer))
            raise self.fail(
                f"the adapter answered {call.verb} with {_quoted(line)}: {error}; "
                f"expected were status ok and {fields}, or status error or unsupported"
            ) from error

    def close(self) -> None:
        """The adapter was told to end, and has ended or is killed."""
        if not self._failure:
            with suppress(AdapterError):
                self.require(ByeCall(), Done)
                self._channel.await_end()
        self.fail("the adapter was told to end")
        self._reader.join()
        self._channel.close()

    def _answer_line(self, call: Call, deadline: float) -> bytes:
        future: Future[bytes] = Future()
        with self._lock:
            if self._failure:
                raise AdapterError(self._failure)
            number = next(self._numbers)
            self._waiting[number] = call.verb, future
        with self._writing:
            self._write(structs.replace(call, id=number), deadline)
        try:
            return future.result(max(0.0, deadline - monotonic()))
        except TimeoutError:
            with self._lock:
                if self._waiting.pop(number, None):
                    self._given_up.add(number)
            raise AdapterTimeoutError(
                f"the adapter did not answer {call.verb} within {call.deadline_ms} ms"
            ) from None

    def _write(self, call: Call, deadline: float) -> None:
        """Write one line; an adapter that does not read it in time has failed."""
        line = msgspec.json.encode(call) + b"\n"
        poller = select.poll()
        poller.register(self._channel.input, select.POLLOUT)
        while line and not self._failure:
            line = line[self._sent(line) :]
            if line and not poller.poll(max(0.0, deadline - monotonic()) * 1000):
                raise self.fail(f"the adapter does not read what it is sent: {call.verb}")

    def _sent(self, line: bytes) -> int:
        """How much of the line has left."""
        try:
            return os.write(self._channel.input, line)
        except BlockingIOError:
            return 0
        except OSError:  # the other side has closed, which the reader tells
            return len(line)

    def _read(self) -> None:
        """Give each line to the call that waits for it, until the output ends."""
        poller = select.poll()
        poller.register(self._channel.output, select.POLLIN)
        rest = b""
        while not self._failure:
            if not poller.poll(POLL_MS) and self._channel.is_open:
                continue
            chunk = self._read_chunk()
            if not chunk:
                self.fail(self._crash())
                return
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._take(line)
            if len(rest) > LINE_BYTES_MAX:
                self._take(rest)

    def _read_chunk(self) -> bytes:
        try:
            return os.read(self._channel.output, CHUNK_BYTES)
        except OSError:  # nothing is there, or the connection was reset
            return b""

    def _take(self, line: bytes) -> None:
        self._written.append(_quoted(line))
        if len(line) > LINE_BYTES_MAX:
            self.fail(
                f"the adapter wrote a line of more than {LINE_BYTES_MAX} bytes: {_quoted(line)}"
            )
            return
        try:
            number = _ENVELOPE.decode(line).id
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            self.fail(
                f"the adapter wrote {_quoted(line)}, which is no answer: {error}; "
                "expected was a JSON object with id and status in one line"
            )
            return
        with self._lock:
            _, future = self._waiting.pop(number, ("", None))
            is_late = number in self._given_up
            self._given_up.discard(number)
            waiting = sorted(self._waiting)
        if future:
            future.set_result(line)
        elif not is_late:
            calls = ", ".join(map(str, waiting)) or "none"
            self.fail(
                f"the adapter wrote {_quoted(line)}: call {number} waits for no answer; "
                f"those that wait are {calls}"
            )

    def _crash(self) -> str:
        """What is known of an adapter without output."""
        how, rest = self._channel.last_words()
        with self._lock:
            verbs = ", ".join(sorted({verb for verb, _ in self._waiting.values()})) or "no call"
        said = "\n".join(self._written) or "(nothing)"
        return (
            f"ADAPTER_CRASH: the adapter {how} in {verbs}; "
            f"standard output ended with:\n{said}{rest}"
        )

    def fail(self, sentence: str) -> AdapterError:
        """It is killed and answers nothing more; the first sentence stays, and is the error's."""
        with self._lock:
            self._failure = self._failure or sentence
            waiting = [future for _, future in self._waiting.values()]
            self._waiting.clear()
        for future in waiting:
            future.set_exception(AdapterError(self._failure))
        self._channel.kill()
        return AdapterError(self._failure)


@cache
def _decoder(
    answer: type[AnswerType],
) -> "msgspec.json.Decoder[AnswerType | Refused | Unsupported]":
    return msgspec.json.Decoder(answer | Refused | Unsupported)


def _quoted(line: bytes) -> str:
    text = line[:QUOTED_CHARACTERS].decode(errors="replace")
    return repr(text) + ("…" if len(line) > QUOTED_CHARACTERS else "")


_ENVELOPE = msgspec.json.Decoder(_Envelope)
