"""The tries of one call, and the error that the call ends with.

A call may have taken effect if any of its tries may have: a later refusal says nothing about an
earlier try.
"""

import asyncio
from collections.abc import Collection
from enum import Enum
from time import monotonic
from typing import NoReturn

from fencepost.impl.client.errors import (
    RETRIABLE,
    ClientError,
    DefiniteError,
    IndefiniteError,
    NoBrokerError,
    ThrottledError,
)
from fencepost.spec.vocabulary import ErrorCode
from fencepost.spec.wire.conventions import UNTRUSTED

NO_LEADER = "LEADER_NOT_AVAILABLE"
"""Error code of the client itself when the metadata names no leader; no request was sent."""
TIME_IS_UP = "DEADLINE_EXCEEDED"


class Effect(Enum):
    """Whether a call may be repeated after a try with an unknown outcome."""

    NONE = "a read"
    IDEMPOTENT = "the broker detects duplicates"
    ONCE = "a repetition could take effect twice"


class TryFailedError(Exception):
    """One try failed; `was_sent` is False when the request certainly reached no broker."""

    def __init__(
        self,
        error_code: str,
        message: str = "",
        *,
        was_sent: bool = True,
        throttle_time_ms: int = 0,
    ) -> None:
        super().__init__(error_code)
        self.error_code = error_code
        """A name of `ErrorCode`, of a gRPC status, or `NO_LEADER`."""
        self.message = message
        self.was_sent = was_sent
        self.throttle_time_ms = throttle_time_ms

    @property
    def is_indefinite(self) -> bool:
        """True when the try may have taken effect; also for unknown error codes."""
        known = ErrorCode.__members__.get(self.error_code)
        return self.was_sent and (known is None or known.is_indefinite)


class Tries:
    """The tries of one call so far."""

    def __init__(
        self,
        what: str,
        deadline: float,
        effect: Effect,
        retriable: frozenset[ErrorCode] = RETRIABLE,
    ) -> None:
        self._what = what
        self._retriable = retriable
        self._deadline = deadline
        self._effect = effect
        self._may_have_happened = False
        self._was_heard = False
        self._last: TryFailedError | None = None
        self._asked: Collection[str] = ()

    def failed(self, error: TryFailedError, asked: Collection[str] = ()) -> None:
        """Record a failed try; raises `ClientError` when no further one is allowed.

        `asked` are the addresses tried by a call that any broker can answer.
        """
        self._asked = asked
        self._may_have_happened |= error.is_indefinite and self._effect is not Effect.NONE
        self._was_heard |= error.was_sent
        if error.error_code != TIME_IS_UP or self._last is None:
            self._last = error
        forbidden = self._may_have_happened and self._effect is Effect.ONCE
        finals = {UNTRUSTED, *ErrorCode.__members__} - self._retriable
        is_final = error.error_code in finals
        if forbidden or is_final or monotonic() >= self._deadline:
            raise self._end(self._last) from error

    async def pause(self, backoff_ms: int) -> None:
        """Wait before the next try; raises `ClientError` at once when there is no time for one.

        A try needs the pause and as long again for its answer: one that is cut off by the deadline
        would turn what was always refused into what may have happened.
        """
        backoff_s = backoff_ms / 1000
        if monotonic() + 2 * backoff_s >= self._deadline:
            self.give_up()
        await asyncio.sleep(backoff_s)

    def give_up(self) -> NoReturn:
        """Raise the `ClientError` of the tries so far."""
        assert self._last is not None
        raise self._end(self._last) from self._last

    def _end(self, error: TryFailedError) -> ClientError:
        asked = self._asked
        why = f"{error.error_code} {error.message}".strip()
        if self._may_have_happened:
            text = f"{self._what}: {why}; it may or may not have happened"
            return IndefiniteError(text, error.error_code)
        if asked and not self._was_heard and error.error_code != UNTRUSTED:
            hint = error.message or "is the cluster up?"
            text = f"{self._what}: no broker answers at {', '.join(asked)}; {hint}"
            return NoBrokerError(text, error.error_code)
        if error.error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED:
            return ThrottledError(f"{self._what}: {why}", error.throttle_time_ms)
        return DefiniteError(f"{self._what}: {why}", error.error_code)
