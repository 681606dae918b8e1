"""The points of the protocol at which a step can stop a process."""

from typing import Literal, NamedTuple, get_args

from fencepost.fault_injection.faults.targets import FaultError
from fencepost.spec.vocabulary import Action

Method = Literal[
    "any",
    "LeaderAndIsr",
    "StopReplica",
    "UpdateMetadata",
    "ControlledShutdown",
    "Fetch",
    "OffsetForLeaderEpoch",
    "Produce",
    "ListOffsets",
    "IncrementalAlterConfigs",
]
METHODS = get_args(Method)[1:]


class Point(NamedTuple):
    """A point of the protocol at which a process can stop."""

    effect: str
    """`send`, `write`, `read`, or empty: an action is taken."""
    about: str
    """The method, a part of a znode's path, or the name of the action."""

    @classmethod
    def parsed(cls, text: str) -> "Point":
        """Raise `FaultError` for what is no point."""
        effect, bracket, rest = text.partition("(")
        about = rest.removesuffix(")")
        if not bracket and text in {*Action}:
            return cls("", text)
        if about and (effect in ("write", "read") or (effect == "send" and about in METHODS)):
            return cls(effect, about)
        raise FaultError(
            f"at is {text!r}, which is no point; write an action, send(<method>), "
            "write(<part of a path>) or read(<part of a path>)"
        )
