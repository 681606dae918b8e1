"""Rules that drop, hold, delay or duplicate requests of this broker (fault_control.proto).

A cancelled gRPC call is not executed late by itself, so a stale command is one that is held here
and delivered after its sender gave up (research: stalled requests).
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from enum import StrEnum
from typing import Never

from fencepost.impl.core.types.broker_reports import (
    IsrChangedRequest,
    LogsFailedRequest,
)
from fencepost.impl.core.types.effects import Send
from fencepost.impl.core.types.messages import (
    ControlRequest,
    PeerRequest,
    Request,
    Response,
)
from fencepost.spec.wire.fault_control_pb2 import RpcRule, RuleStatus

ANY_BROKER = -1
RULES_MAX = 1000

Call = Callable[[], Awaitable[Response]]
"""Sends the request with a fresh deadline; raises `CallError`."""


class CallError(Exception):
    """A request to a peer got no answer; says why."""


class RuleVerb(StrEnum):
    """The effect of a rule on a request."""

    DROP_REQUEST = "drop_request"
    DROP_RESPONSE = "drop_response"
    HOLD = "hold"
    DUPLICATE = "duplicate"
    DELAY = "delay"
    REORDER = "reorder"
    ERROR = "error"


CODES = (
    "ABORTED",
    "INTERNAL",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "UNAVAILABLE",
    "UNIMPLEMENTED",
    "UNKNOWN",
)
"""gRPC statuses for `error`: those with which a server refuses a request unread."""


class AppliedRule:
    """A rule and the counters of its effect."""

    def __init__(self, rule: RpcRule) -> None:
        self.rule = rule
        self.verb = RuleVerb(rule.verb)
        self.matched = 0
        self.held = 0
        self.released = 0
        self.removed = asyncio.Event()
        self.deliveries: set[asyncio.Task[None]] = set()
        self.window: list[asyncio.Event] = []
        """Per request held by `reorder`, in order of arrival, the event that releases it."""

    def status(self) -> RuleStatus:
        """The counters as a wire message."""
        return RuleStatus(
            rule_id=self.rule.rule_id,
            matched=self.matched,
            held=self.held,
            released=self.released,
        )

    def applies_to(self, to: int, request: PeerRequest) -> bool:
        """True when the rule is in force for this request."""
        rule = self.rule
        return (
            not self.removed.is_set()
            and (rule.count == 0 or self.matched < rule.count)
            and rule.to in (ANY_BROKER, to)
            and rule.method in ("", method_of(request))
            and (rule.topic == "" or rule.topic in _topics(request))
        )


class FaultRules:
    """The rules of one broker in order of arrival; the first that applies decides."""

    def __init__(self) -> None:
        self._rules: dict[str, AppliedRule] = {}

    def leave_alone(self, send: Send) -> bool:
        """True when no rule applies to the request now."""
        return not self._rules or self._match(send) is None

    def add(self, rule: RpcRule) -> RuleStatus:
        """Put a rule in force; the status has `error` set when the rule is wrong."""
        wrong = _mistake_in(rule)
        if wrong:
            return _refused(rule.rule_id, wrong)
        if rule.rule_id in self._rules:
            return _refused(rule.rule_id, f"a rule {rule.rule_id!r} is or was there already")
        if len(self._rules) >= RULES_MAX:
            return _refused(rule.rule_id, f"there are {RULES_MAX} rules already")
        active = self._rules[rule.rule_id] = AppliedRule(rule)
        return active.status()

    async def remove(self, rule_id: str) -> RuleStatus:
        """Remove a rule and deliver the requests that it held before returning."""
        active = self._rules.get(rule_id)
        if active is None:
            return _refused(rule_id, f"there is no rule {rule_id!r}")
        active.removed.set()
        _release_window(active)
        if active.deliveries:
            await asyncio.wait(active.deliveries)
        return active.status()

    def get(self, rule_id: str) -> RuleStatus:
        """The counters of a rule, in force or removed."""
        active = self._rules.get(rule_id)
        return active.status() if active else _refused(rule_id, f"there is no rule {rule_id!r}")

    async def exchange(self, send: Send, call: Call) -> Response:
        """Make the call under the rules; a dropped answer waits until it is cancelled."""
        active = self._match(send)
        if active is None:
            return await call()
        active.matched += 1
        match active.verb:
            case RuleVerb.DUPLICATE:
                response = await call()
                _later(active, _deliver(call))
                return response
            case RuleVerb.DELAY:
                return await _detached(active, _delayed(active, call))
            case RuleVerb.REORDER:
                return await _detached(active, _reordered(active, call))
            case RuleVerb.ERROR:
                raise CallError(f"{active.rule.code}, injected by a fault")
            case RuleVerb.HOLD:
                active.held += 1
                _later(active, _deliver_late(active, call))
            case RuleVerb.DROP_RESPONSE:
                await call()
            case RuleVerb.DROP_REQUEST:
                pass
        return await _never()

    def _match(self, send: Send) -> AppliedRule | None:
        rules = self._rules.values()
        return next((rule for rule in rules if rule.applies_to(send.to, send.request)), None)

    async def close(self) -> None:
        """Cancel all held requests."""
        deliveries = [task for rule in self._rules.values() for task in rule.deliveries]
        for task in deliveries:
            task.cancel()
        await asyncio.gather(*deliveries, return_exceptions=True)


def method_of(request: Request) -> str:
    """The method of service Replication that takes this request."""
    return type(request).__name__.removesuffix("Request")


def _topics(request: PeerRequest) -> set[str]:
    if isinstance(request, ControlRequest | LogsFailedRequest | IsrChangedRequest):
        return {state.topic for state in request.partitions}
    topic = getattr(request, "topic", None)
    return {topic} if topic else set()


def _mistake_in(rule: RpcRule) -> str:
    """The mistake in a rule as one sentence, or ""."""
    match rule.verb:
        case verb if verb not in list(RuleVerb):
            return f"{verb!r} is no verb; choose one of {', '.join(RuleVerb)}"
        case RuleVerb.DELAY if rule.delay_ms < 1:
            return f"delay_ms is {rule.delay_ms}; give 1 or more"
        case RuleVerb.REORDER if rule.window < 2:
            return f"window is {rule.window}; give 2 or more"
        case RuleVerb.ERROR if rule.code not in CODES:
            return f"{rule.code!r} is no such status; choose one of {', '.join(CODES)}"
    return ""


def _refused(rule_id: str, error: str) -> RuleStatus:
    return RuleStatus(rule_id=rule_id, error=error)


def _later(active: AppliedRule, delivery: Coroutine[None, None, None]) -> None:
    task = asyncio.create_task(delivery)
    active.deliveries.add(task)
    task.add_done_callback(active.deliveries.discard)


async def _detached(active: AppliedRule, delivery: Coroutine[None, None, Response]) -> Response:
    """The answer of the delivery, which continues when the sender gives up."""
    answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()

    async def deliver() -> None:
        active.held += 1
        try:
            response = await delivery
        except CallError as error:
            if not answer.done():
                answer.set_exception(error)
        else:
            active.released += 1
            if not answer.done():
                answer.set_result(response)
        finally:
            active.held -= 1

    _later(active, deliver())
    return await answer


async def _delayed(active: AppliedRule, call: Call) -> Response:
    """Send the request after the delay, or when the rule is removed."""
    with suppress(TimeoutError):
        await asyncio.wait_for(active.removed.wait(), active.rule.delay_ms / 1000)
    return await call()


async def _reordered(active: AppliedRule, call: Call) -> Response:
    """Send the request when the window is full, or when the rule is removed."""
    turn = asyncio.Event()
    active.window.append(turn)
    if len(active.window) >= active.rule.window:
        _release_window(active)
    await turn.wait()
    return await call()


def _release_window(active: AppliedRule) -> None:
    """Release the window, last request first: tasks run in the order of waking."""
    while active.window:
        active.window.pop().set()


async def _deliver_late(active: AppliedRule, call: Call) -> None:
    try:
        await active.removed.wait()
        with suppress(CallError):
            await call()
            active.released += 1
    finally:
        active.held -= 1


async def _deliver(call: Call) -> None:
    with suppress(CallError):
        await call()


async def _never() -> Never:
    await asyncio.Future()
    raise AssertionError("this future is never completed")
