"""What `until` and `note` can look at, and how a value is written that is expected or seen."""

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from fencepost.fault_injection.faults.targets import FaultError
from fencepost.spec.vocabulary import BrokerId
from fencepost.spec.znodes import TOPIC_NAME, TopicPartition

PARTITION = rf"{TOPIC_NAME.pattern}/[0-9]+"
"""How a story names a partition."""
Observed = int | str | bool | tuple[int | str, ...]


def partition_of(text: str) -> TopicPartition:
    """The partition that a step names, as `t/0`."""
    topic, _, number = text.rpartition("/")
    return TopicPartition(topic, int(number))


class Observation(NamedTuple):
    """What `until` looks at, as `role(t/0,2)`: its name, and of which partition and broker."""

    name: str
    partition: TopicPartition | None = None
    broker_id: BrokerId | None = None

    @classmethod
    @cache
    def parsed(cls, text: str) -> "Observation":
        """Raise `FaultError` for what cannot be seen."""
        name, _, rest = text.partition("(")
        first, _, second = rest.removesuffix(")").partition(",")
        key = partition_of(first) if re.fullmatch(PARTITION, first) else None
        number = second if key else first
        found = cls(name, key, BrokerId(int(number)) if number.isdecimal() else None)
        if text != str(found) or OBSERVATIONS.get(name) != found._form:
            known = ", ".join(f"{name}{form}" for name, form in OBSERVATIONS.items())
            raise FaultError(f"{text} cannot be seen; write one of {known}")
        return found

    def __str__(self) -> str:
        given = ",".join(str(one) for one in self[1:] if one is not None)
        return f"{self.name}({given})" if given else self.name

    @property
    def _form(self) -> str:
        given = zip(("<topic>/<p>", "<broker>"), self[1:], strict=True)
        form = ",".join(form for form, one in given if one is not None)
        return f"({form})" if form else ""


def expected_text(value: Observed) -> str:
    """An expected value as it is observed; nothing is `none`."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


OF_PARTITION, OF_BROKER, OF_REPLICA = "(<topic>/<p>)", "(<broker>)", "(<topic>/<p>,<broker>)"
OBSERVATIONS: dict[str, str] = {
    **dict.fromkeys(("controller", "controller_epoch", "converged"), ""),
    **dict.fromkeys(("held", "pending", "topics"), ""),
    **dict.fromkeys(("leader", "epoch", "isr", "assigned", "version", "committed"), OF_PARTITION),
    **dict.fromkeys(
        ("life", "registered", "broker_epoch", "controller_at", "brokers_at"), OF_BROKER
    ),
    "config_version_at": OF_BROKER,
    **dict.fromkeys(("role", "replica_epoch", "replica_isr"), OF_REPLICA),
    **dict.fromkeys(("high_watermark", "log_end_offset", "fenced"), OF_REPLICA),
    **dict.fromkeys(("leader_at", "answer_at"), OF_REPLICA),
}
"""What can be seen, and what it is asked of."""


def is_relative(wanted: Observed) -> bool:
    """True for what is compared with a noted value: `same`, `more`, or `+` and a number."""
    return isinstance(wanted, str) and re.fullmatch(r"same|more|\+[0-9]+", wanted) is not None


def is_as_wanted(wanted: str, seen: str, noted: str | None) -> bool:
    """True for the value, one of several, or as it is to be compared with what was noted."""
    if not is_relative(wanted):
        return seen in wanted.split("|")
    if noted is None:
        raise FaultError(f"{wanted} compares with nothing; note the observation in a step before")
    if wanted == "same" or not (seen.isdecimal() and noted.isdecimal()):
        return wanted == "same" and seen == noted
    return int(seen) > int(noted) if wanted == "more" else int(seen) == int(noted) + int(wanted)


def require_wanted(verb: str, wanted: Mapping[str, Observed]) -> None:
    """Raise `FaultError` unless there is something, and all of it can be seen."""
    if not wanted:
        raise FaultError(f"{verb} is empty; give an observation, as in {{leader(t/0): 2}}")
    for name in wanted:
        Observation.parsed(name)
