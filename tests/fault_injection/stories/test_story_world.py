"""Who and what a story names is there, or the story is refused with the place and what would do."""

import re

import pytest

from fencepost.fault_injection.stories.story_file import story_from_text
from fencepost.fault_injection.stories.story_refusal import StoryError
from fencepost.fault_injection.stories.story_world import StoryWorld, require_there

WORLD = StoryWorld(brokers=(1, 2, 3), topics={"orders": 3})
PAUSE = "kind: proc.pause, target: 1, for_ms: 5"


def one(action: str) -> str:
    return f"schema: 1\nid: a\nactions:\n  - {{id: first, {action}}}\n"


def refusal(text: str) -> str:
    """Why a story is refused; empty when it is not."""
    try:
        require_there(story_from_text(text), WORLD)
    except StoryError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (
            "kind: zk.expire, target: 7",
            r"actions\[0\] \(first\): target is 7: there is no broker 7; choose among 1, 2, 3$",
        ),
        (
            "kind: zk.expire, target: leader(order/0)",
            "target is leader.order/0.: there is no topic 'order'; did you mean orders",
        ),
        (
            "kind: zk.expire, target: leader(x/0)",
            "target is .*: there is no topic 'x'; there is orders",
        ),
        (
            "kind: zk.expire, target: leader(orders/3)",
            "there is no partition 3 of orders; choose one of 0 to 2",
        ),
        (
            'kind: zk.expire, target: "follower(orders/0,2)"',
            "there are 2 followers at most, counted from 0; give a smaller number",
        ),
        (
            "kind: net.oneway, target: 1, for_ms: 5, params: {receiver: 4}",
            "receiver is 4: there is no broker 4",
        ),
        (
            "kind: net.partition, for_ms: 5, params: {side: [1, 9]}",
            r"side is \[1, 9\]: there is no broker 9",
        ),
        ("kind: admin.add_partitions, params: {topic: sales}", "topic is sales: there is no topic"),
        (
            "kind: admin.preferred_leader, params: {topic: orders, partition: 5}",
            "partition is 5: there is no partition 5 of orders",
        ),
        (f"{PAUSE}, when: {{after: {{event: BecomeLeader, by: 8}}}}", "when: by is 8: there is no"),
        (f"{PAUSE}, when: {{on: {{topic: sales}}}}", "when: topic is sales: there is no topic"),
        (
            f"{PAUSE}, when: {{on: {{partition: 9}}}}",
            "when: partition is 9: there is no partition 9; choose one of 0 to 2",
        ),
        (
            "kind: proc.pause, target: 1, until: {on: {leader: 4}}",
            "until: leader is 4: there is no broker 4",
        ),
        (f"{PAUSE}, when: {{on: {{isr: [1, 5]}}}}", r"when: isr is \[1, 5\]: there is no broker 5"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(action: str, message: str) -> None:
    assert re.search(message, refusal(one(action)))


@pytest.mark.parametrize(
    "action",
    [
        "kind: zk.expire, target: controller",
        'kind: zk.expire, target: "follower(orders/2,1)"',
        "kind: rpc.hold, target: 1, for_ms: 5, params: {method: Fetch}",
        f"{PAUSE}, when: {{on: {{leader: -1}}}}",
        f"{PAUSE}, when: {{on: {{topic: {{ne: sales}}}}}}",
    ],
)
def test_what_is_there_or_may_be_anything_is_taken(action: str) -> None:
    assert refusal(one(action)) == ""


def test_partitions_that_the_plan_adds_are_there() -> None:
    more = "kind: admin.add_partitions, params: {topic: orders, count: 2}"
    late = "  - {id: late, kind: zk.expire, target: leader(orders/4)}\n"

    assert refusal(one(more) + late) == ""
    why = refusal(one(more) + late.replace("/4", "/5"))
    assert "no partition 5 of orders; choose one of 0 to 4" in why


def test_where_nobody_knows_the_topics_only_brokers_are_looked_for() -> None:
    world = StoryWorld(brokers=(1,), topics=None)

    require_there(story_from_text(one("kind: zk.expire, target: leader(mine/9)")), world)
    with pytest.raises(StoryError, match="there is no broker 2; choose among 1"):
        require_there(story_from_text(one("kind: zk.expire, target: 2")), world)


def test_without_clients_there_is_no_topic() -> None:
    story = story_from_text(one("kind: zk.expire, target: leader(orders/0)"))

    with pytest.raises(StoryError, match="no topic 'orders'; clients of profile none make none"):
        require_there(story, StoryWorld(brokers=(1,), topics={}))


def test_a_story_with_steps_names_what_its_steps_make() -> None:
    text = one("kind: zk.expire, target: leader(history/0)")

    assert refusal(text + "steps: [{create_topic: history}]\n") == ""
    assert "there is no topic 'history'" in refusal(text)
