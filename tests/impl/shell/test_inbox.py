"""The two queues of a node: what is urgent comes first, and holds up the others only by turns."""

import asyncio

from fencepost.impl.shell.inbox import OTHERS_IN_A_ROW, Inbox


def inbox_of(*items: str) -> Inbox[str]:
    inbox = Inbox[str](str.isupper)
    for item in items:
        inbox.put(item)
    return inbox


async def taken(inbox: Inbox[str], count: int) -> str:
    return "".join([await inbox.take() for _ in range(count)])


def test_what_is_urgent_comes_first_and_one_of_the_others_in_between() -> None:
    async def scenario() -> str:
        return await taken(inbox_of(*"abcABC"), 6)

    assert asyncio.run(scenario()) == "AaBbCc"


def test_each_queue_keeps_its_order() -> None:
    async def scenario() -> str:
        return await taken(inbox_of(*"aAbBcdef"), 8)

    order = asyncio.run(scenario())
    assert [one for one in order if one.isupper()] == ["A", "B"]
    assert [one for one in order if one.islower()] == list("abcdef")


def test_many_others_let_something_urgent_in() -> None:
    async def scenario() -> str:
        inbox = inbox_of(*"a" * 3 * OTHERS_IN_A_ROW)
        asyncio.get_running_loop().call_soon(inbox.put, "A")
        return await taken(inbox, OTHERS_IN_A_ROW + 1)

    assert asyncio.run(scenario()) == "a" * OTHERS_IN_A_ROW + "A"


def test_who_takes_waits_for_the_next_one() -> None:
    async def scenario() -> str:
        inbox = inbox_of()
        waiting = asyncio.create_task(taken(inbox, 2))
        await asyncio.sleep(0)
        assert not waiting.done()
        inbox.put("a")
        inbox.put("b")
        return await waiting

    assert asyncio.run(scenario()) == "ab"
