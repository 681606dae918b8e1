"""What rules make of the requests between two ends over the loopback."""

import asyncio

import pytest

from fencepost.impl.core.types.messages import PeerRequest
from fencepost.impl.shell.rpc.rpc_faults import RuleVerb
from fencepost.spec.wire import fault_control_pb2 as control
from tests.impl.shell.rpc_pair import answered, asynchronous, command, failed, fetch, pair


@asynchronous
async def test_a_dropped_request_never_arrives() -> None:
    async with pair() as both:
        both.rule(RuleVerb.DROP_REQUEST, count=1)
        lost = both.send(fetch(0), timeout_ms=80)
        assert await both.sent.hold(1) == [failed(lost)]
        kept = both.send(fetch(1))
        assert (await both.sent.hold(2))[1] == answered(kept)

        assert [event.request for event in both.received.events] == [kept.request]
        assert both.client.rules.get("r").matched == 1


@asynchronous
async def test_a_dropped_response_is_of_a_request_that_arrived() -> None:
    async with pair() as both:
        both.rule(RuleVerb.DROP_RESPONSE, count=1)
        send = both.send(fetch(), timeout_ms=1000)

        assert await both.sent.hold(1) == [failed(send)]
        assert [event.request for event in both.received.events] == [send.request]


@asynchronous
async def test_a_held_request_arrives_after_its_sender_gave_up() -> None:
    async with pair() as both:
        both.rule(RuleVerb.HOLD, count=1)
        held = both.send(fetch(0), timeout_ms=500)
        assert await both.sent.hold(1) == [failed(held)]
        newer = both.send(fetch(1))
        await both.sent.hold(2)
        status = both.client.rules.get("r")
        assert (status.matched, status.held, status.released) == (1, 1, 0)

        status = await both.client.rules.remove("r")

        assert (status.matched, status.held, status.released) == (1, 0, 1)
        arrived = [event.request for event in both.received.events]
        assert arrived == [newer.request, held.request]
        assert len(both.sent.events) == 2


@asynchronous
async def test_a_delayed_request_arrives_though_its_sender_gave_up() -> None:
    async with pair() as both:
        both.rule(RuleVerb.DELAY, count=1, delay_ms=1500)
        slow = both.send(fetch(0), timeout_ms=500)
        assert await both.sent.hold(1) == [failed(slow)]
        assert both.received.events == []
        newer = both.send(fetch(1))
        await both.received.hold(2)

        assert [event.request for event in both.received.events] == [newer.request, slow.request]
        assert (await both.client.rules.remove("r")).released == 1
        assert both.sent.events == [failed(slow), answered(newer)]


@asynchronous
async def test_a_delayed_request_is_answered_when_its_sender_waits() -> None:
    async with pair() as both:
        both.rule(RuleVerb.DELAY, delay_ms=30)
        sends = [both.send(fetch(0)), both.send(fetch(1), request_id=2)]

        assert await both.sent.hold(2) == [answered(send) for send in sends]


@asynchronous
async def test_the_removal_of_a_rule_ends_its_delays() -> None:
    async with pair() as both:
        both.rule(RuleVerb.DELAY, delay_ms=60_000)
        send = both.send(fetch(0))
        while not both.client.rules.get("r").held:
            await asyncio.sleep(0)
        status = await both.client.rules.remove("r")

        assert (status.matched, status.held, status.released) == (1, 0, 1)
        assert await both.sent.hold(1) == [answered(send)]


@asynchronous
async def test_requests_of_a_window_leave_the_last_one_first() -> None:
    async with pair() as both:
        both.rule(RuleVerb.REORDER, window=3)
        sends = [both.send(fetch(number), request_id=number) for number in range(4)]
        await both.received.hold(3)
        first_three = [event.request for event in both.received.events]
        status = await both.client.rules.remove("r")

        assert first_three == [send.request for send in reversed(sends[:3])]
        assert both.received.events[3].request == sends[3].request
        assert (status.matched, status.held, status.released) == (4, 0, 4)
        await both.sent.hold(4)


@asynchronous
async def test_an_error_is_told_at_once_and_nothing_arrives() -> None:
    async with pair() as both:
        both.rule(RuleVerb.ERROR, count=1, code="UNAVAILABLE")
        refused = both.send(fetch(0), timeout_ms=60_000)
        assert await both.sent.hold(1) == [failed(refused)]
        kept = both.send(fetch(1))
        await both.sent.hold(2)

        assert [event.request for event in both.received.events] == [kept.request]
        assert both.client.rules.get("r").matched == 1


@asynchronous
async def test_a_duplicated_request_arrives_twice_and_is_answered_once() -> None:
    async with pair() as both:
        both.rule(RuleVerb.DUPLICATE, count=1)
        send = both.send(fetch())
        await both.received.hold(2)
        status = await both.client.rules.remove("r")

        assert both.sent.events == [answered(send)]
        assert [event.request for event in both.received.events] == [send.request] * 2
        assert status.matched == 1


@pytest.mark.parametrize(
    ("fields", "request_", "applies"),
    [
        ({}, fetch(), True),
        ({"method": "Fetch"}, fetch(), True),
        ({"method": "LeaderAndIsr"}, fetch(), False),
        ({"to": 2}, fetch(), True),
        ({"to": 3}, fetch(), False),
        ({"topic": "t"}, fetch(), True),
        ({"topic": "u"}, fetch(), False),
        ({"topic": "u"}, command("t", "u"), True),
        ({"topic": "v", "method": "LeaderAndIsr"}, command("t", "u"), False),
    ],
)
@asynchronous
async def test_a_rule_applies_to_what_it_names(
    fields: dict[str, object], request_: PeerRequest, applies: bool
) -> None:
    async with pair() as both:
        both.rule(RuleVerb.DUPLICATE, **fields)
        both.send(request_)
        await both.sent.hold(1)

        assert both.client.rules.get("r").matched == int(applies)


@asynchronous
async def test_rules_that_cannot_be_are_refused_with_a_sentence() -> None:
    async with pair() as both:
        assert both.rule(RuleVerb.HOLD).error == ""
        again = both.rule(RuleVerb.HOLD)
        unknown = both.client.rules.add(control.RpcRule(rule_id="x", verb="explode"))
        missing = await both.client.rules.remove("nobody")
        odd = [
            both.rule(RuleVerb.DELAY, rule_id="d"),
            both.rule(RuleVerb.REORDER, rule_id="w", window=1),
            both.rule(RuleVerb.ERROR, rule_id="e", code="OK"),
        ]

    assert again.error == "a rule 'r' is or was there already"
    assert unknown.error.startswith("'explode' is no verb; choose one of drop_request, ")
    assert missing.error == "there is no rule 'nobody'"
    assert [status.error.split(";")[0] for status in odd] == [
        "delay_ms is 0",
        "window is 1",
        "'OK' is no such status",
    ]
