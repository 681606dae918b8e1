"""What a rule does to which links, and what all rules together mean for one link.

A link is directed: from the sender of bytes to their receiver. No clock, no I/O.
Standard library only: the proxy's process starts with nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

Link = tuple[str, str]
"""Names of members: a broker's node name, a ZooKeeper server's, or `CLIENTS`."""
CLIENTS = "clients"
"""All that connect and are no brokers of this run."""


VERBS = frozenset({"drop_request", "drop_response", "hold", "delay", "reorder", "duplicate"})
"""What can be done to single requests, as in `spec/wire/fault_control.proto`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHandling:
    """What becomes of single requests in Kafka's protocol."""

    verb: str
    method: str = ""
    """The kind of request, as `LeaderAndIsr`; empty: all."""
    topic: str = ""
    """That the request names; empty: any, or none."""
    count: int = 0
    """To how many it happens; 0: to all."""
    delay_ms: int = 0
    """Of `delay`: so much later the request leaves, and all that follow on its connection."""
    window: int = 0
    """Of `reorder`: so many are kept, then leave, the last one first."""

    def __post_init__(self) -> None:
        if self.verb not in VERBS:
            raise ValueError(f"{self.verb} cannot be done to a request of Kafka")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRule:
    """One fault on some links."""

    rule_id: str
    links: frozenset[Link]
    stalls: bool = False
    """Bytes stop and wait; connections stay open at both ends, and new ones get no answer."""
    drops: bool = False
    """The connections that exist when it begins are reset."""
    refuses: bool = False
    """The connections that are made while it lasts are reset at once."""
    delay_ms: int = 0
    jitter_ms: int = 0
    """Bytes come later by `delay_ms` and up to this much; they never overtake each other."""
    kb_per_s: int = 0
    """Kilobytes (of 1,000 bytes) that pass per second; 0: as many as there are."""
    replies_to_lose: int = 0
    """So many writes are done by ZooKeeper; their answers are withheld and the connection reset."""
    requests_to_fail: int = 0
    """So many requests ZooKeeper never sees; each is answered with an error all the same."""
    fails_only_writes: bool = False
    error_code: int = 0
    """Of ZooKeeper, by which they are answered."""
    requests: RequestHandling | None = None
    """Single requests that brokers of Kafka send; the other bytes of the links pass."""
    windows: tuple[tuple[int, int], ...] = ()
    """When it applies, in milliseconds from its beginning; empty: all the time."""

    def to_json(self) -> dict[str, Any]:
        """The rule as a JSON object."""
        document = asdict(self)
        return {**document, "links": sorted(self.links)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The rule that `to_json` wrote; raises `TypeError` or `ValueError` for anything else."""
        known = {item.name for item in fields(cls)}
        given = {name: value for name, value in document.items() if name in known}
        given["links"] = frozenset((str(a), str(b)) for a, b in document["links"])
        given["windows"] = tuple((int(a), int(b)) for a, b in document.get("windows", ()))
        if document.get("requests"):
            given["requests"] = RequestHandling(**document["requests"])
        return cls(**given)


@dataclass(frozen=True, slots=True, kw_only=True)
class Treatment:
    """What happens to the bytes of one link now."""

    is_stalled: bool = False
    delay_ms: int = 0
    jitter_ms: int = 0
    kb_per_s: int = 0

    @property
    def is_plain(self) -> bool:
        """True when bytes just pass."""
        return self == PLAIN


PLAIN = Treatment()


def treatment_of(rules: Sequence[LinkRule]) -> Treatment:
    """All rules of a link together: delays add up, the narrowest one sets the pace."""
    return Treatment(
        is_stalled=any(rule.stalls for rule in rules),
        delay_ms=sum(rule.delay_ms for rule in rules),
        jitter_ms=sum(rule.jitter_ms for rule in rules),
        kb_per_s=min((rule.kb_per_s for rule in rules if rule.kb_per_s), default=0),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LostReply:
    """A write that ZooKeeper did, without an answer that arrived."""

    path: str
    """On the server, its chroot included; of a multi, that of its first operation."""
    zxid: int


@dataclass(slots=True, kw_only=True)
class LinkRuleStatus:
    """What a rule has done so far."""

    bytes_waiting: int = 0
    """That are held back now."""
    bytes_stalled: int = 0
    """The most that was ever held back at one look."""
    bytes_delayed: int = 0
    connections_held: int = 0
    """That were made while bytes could not pass."""
    connections_refused: int = 0
    connections_reset: int = 0
    packets_dropped: int = 0
    """By the kernel, probes not counted."""
    bytes_dropped: int = 0
    """In those packets; what is not acknowledged is sent again, and counts again."""
    packets_kept: int = 0
    """How often the kernel kept one for later, since too many bytes had passed just before."""
    windows_begun: int = 0
    lost_replies: list[LostReply] = field(default_factory=list)
    requests_taken: int = 0
    """That were kept from ZooKeeper, answered or not."""
    failed_requests: list[str] = field(default_factory=list)
    """The paths of those that were answered with an error; of a multi, its first one."""

    requests_matched: int = 0
    """Of Kafka, to which something was done."""
    requests_kept: int = 0
    """Of these, those that wait now."""
    requests_released: int = 0
    """That had waited, and that the broker has answered since."""
    answers_withheld: int = 0
    """To requests that a broker of Kafka has obeyed, or has obeyed again."""

    @property
    def has_blocked(self) -> bool:
        """True when something did not pass because of it."""
        return bool(
            self.bytes_stalled
            or self.connections_held
            or self.connections_refused
            or self.connections_reset
            or self.packets_dropped
        )

    def to_json(self) -> dict[str, Any]:
        """The status as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """The status that `to_json` wrote."""
        lost = [LostReply(**one) for one in document["lost_replies"]]
        return cls(**{**document, "lost_replies": lost})
