"""Actions and their lines in the trace: every `ActionTaken` is made here.

An action is the function of its name, `become_leader` for `BecomeLeader`, or a method where its
state is not a value. `taken` gives it its line; what the action tells of the state that it has made
is in the table `TOLD`.
"""

from collections.abc import Mapping
from typing import Protocol, TypeVar, cast

from fencepost.impl.core.types.effects import ActionTaken
from fencepost.spec.vocabulary import Action, snake_case


class Named(Protocol):
    """A function, or a method."""

    __name__: str


class Line(Protocol):
    """How `ActionTaken` is made of details that only tests can check."""

    def __call__(self, **fields: object) -> ActionTaken:
        """The line with these fields."""


Function = TypeVar("Function", bound=Named)
_BY_FUNCTION = {snake_case(one): one for one in Action}

_INCARNATION = ("topic_partition", "partition_incarnation", "leader_epoch")
_ROLE = (*_INCARNATION, "leader", "isr", "znode_version", "high_watermark", "log_end_offset")
_LOG = (*_INCARNATION, "high_watermark", "log_end_offset")
_ISR = (*_INCARNATION, "isr", "maximal_isr")
_DECISION = ("leader", "leader_epoch", "isr", "controller_epoch")

TOLD: Mapping[Action, tuple[str, ...]] = {
    # of a replica
    Action.BECOME_LEADER: _ROLE,
    Action.BECOME_FOLLOWER: _ROLE,
    Action.TRUNCATE_LOG: _LOG,
    Action.LEADER_APPEND: _LOG,
    Action.FOLLOWER_APPEND: _LOG,
    Action.SERVE_FETCH: ("topic_partition", "leader_epoch"),
    Action.ADVANCE_HIGH_WATERMARK: (*_ISR, "high_watermark", "log_end_offset"),
    Action.SHRINK_ISR: _ISR,
    Action.EXPAND_ISR: _ISR,
    Action.ADOPT_ISR: (*_ISR, "znode_version"),
    Action.FENCE_LEADER: (*_ISR, "znode_version"),
    Action.OBEY_INIT: ("topic_partition", "partition_incarnation"),
    Action.RECOVER_REPLICAS: ("topic_partition", "partition_incarnation"),
    Action.STOP_REPLICA: ("topic_partition", "partition_incarnation"),
    # of a partition's next LeaderAndISR
    Action.INIT_LEADER: _DECISION,
    Action.ELECT_LEADER: _DECISION,
    Action.PUBLISH_DECISION: _DECISION,
    Action.ADD_PARTITIONS: _DECISION,
    Action.REMOVE_PARTITIONS: _DECISION,
    Action.ADVANCE_REASSIGNMENT: _DECISION,
    Action.COMPLETE_REASSIGNMENT: _DECISION,
    # of a command
    Action.SEND_LEADER_AND_ISR: (*_INCARNATION[1:], "leader", "znode_version"),
    Action.SEND_STOP_REPLICA: _INCARNATION[1:],
    Action.UPDATE_METADATA: (*_INCARNATION[1:], "leader", "znode_version"),
}
_LINE = cast(Line, ActionTaken)


def action(function: Function) -> Function:
    """Declare the function of an action; one that the specs do not know ends the import."""
    action_of(function)
    return function


def action_of(function: Named) -> Action:
    """The action that a function performs, by its name."""
    return _BY_FUNCTION[function.__name__]


def taken(function: Named | Action, state: object = None, **details: object) -> ActionTaken:
    """The line of an action: what it tells of the state that it made, and `details`, which win."""
    performed = function if isinstance(function, Action) else action_of(function)
    if state is not None:
        for name in TOLD[performed]:
            if name not in details:
                details[name] = getattr(state, name)
    return _LINE(action=performed, **details)
