"""How far a decision walks: from the controller's election to the broker that obeys it."""

import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from types import FrameType

from fencepost.impl.core.config import Config
from fencepost.impl.core.types.messages import LeaderAndIsrResponse
from tests.impl.core.build import ME, command, order
from tests.impl.core.driver import Driver
from tests.impl.core.moving import governed
from tests.impl.core.roles import started

Walk = list[tuple[str, str]]
"""File and function, in the order of a reader that follows a decision."""

DECIDED: Walk = [
    ("controller/controller", "_apply_broker_change"),
    ("controller/leader_election", "_reread"),
    ("controller/leader_election", "_decide"),
    ("rules/controller/leadership", "elect_leader"),
    ("controller/leader_election", "_take"),
    ("controller/fenced_writes", "submit"),
    ("rules/znode_writes", "write"),
    ("controller/leader_election", "publish_decision"),
    ("controller/controller_channel", "tell"),
    ("controller/controller", "_flush"),
    ("controller/controller_channel", "send_leader_and_isr"),
]
OBEYED: Walk = [
    ("node", "_on_request"),
    ("broker/broker", "on_leader_and_isr"),
    ("broker/role_change", "obey"),
    ("rules/commands", "command_of"),
    ("broker/role_change", "_become_leader"),
    ("rules/replica", "become_leader"),
    ("broker/replicas", "take"),
    ("broker/delayed_requests", "start_leading"),
    ("broker/produce", "answer_committed"),
]
RETURNS_MAX = 4


def calls(act: Callable[[], object]) -> Walk:
    """Every function of the core that is entered, in order."""
    entered: Walk = []

    def note(frame: FrameType, event: str, _: object) -> None:
        _, core, place = frame.f_code.co_filename.partition("/impl/core/")
        if event == "call" and core:
            entered.append((str(Path(place).with_suffix("")), frame.f_code.co_name))

    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
    return entered


def returns(walk: Walk) -> int:
    """How often the walk comes back to a file that it has left."""
    visits = [file for file, _ in groupby(file for file, _ in walk)]
    return len(visits) - len({*visits})


def is_walked(walk: Walk, entered: Walk) -> bool:
    """True when the functions of the walk are entered in its order, whatever is between."""
    rest = iter(entered)
    return all(step in rest for step in walk)


def test_a_decision_walks_from_the_controller_to_its_channel() -> None:
    driver = governed(Driver(Config(broker_id=ME)), (2, 3))

    assert is_walked(DECIDED, calls(lambda: driver.unregister(2)))
    assert returns(DECIDED) <= RETURNS_MAX


def test_a_command_walks_from_the_request_to_the_replica() -> None:
    driver = started(Driver(Config(broker_id=ME)))
    told = order(command(1, 1))

    assert is_walked(OBEYED, calls(lambda: driver.deliver(told, LeaderAndIsrResponse)))
    assert returns(OBEYED) <= RETURNS_MAX


def test_a_return_is_counted() -> None:
    walk = [("a", "f"), ("a", "g"), ("b", "f"), ("a", "h"), ("b", "g")]

    assert returns(walk) == 2
