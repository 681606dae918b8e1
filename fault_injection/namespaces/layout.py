"""The network of one run: who is where in it, and what each thing is called. Pure.

Every member has a network namespace of its own, joined by a pair of devices to one bridge in
another namespace. A member has two addresses: at one the others find it, and what goes there can
be dropped; at the other only the harness does, to see what it did. Both are of the range that
RFC 2544 keeps for tests of networks, and exist in namespaces of ours only.
Standard library only.
"""

from dataclasses import dataclass
from pathlib import Path

from fault_injection.links.rules import CLIENTS

BRIDGE = "bridge"
SINK = "sink"
"""What is sent into it is gone."""
DRAIN = "drain"
"""The other end of `SINK`."""
DEVICE = "eth0"
"""A member's own end of its pair."""
HARNESS_DEVICE = "fencepost"
HARNESS_NUMBER = 254
MEMBERS_MAX = 250
PREFIX = 24
BROKER_PORT = 9092
ZOOKEEPER_PORT = 2181
PROBE_PORT = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A member and its network."""

    name: str
    number: int
    namespace: Path
    """What a process opens to enter it, as long as the switch runs."""

    @property
    def host(self) -> str:
        """Where other members find it."""
        return f"198.18.0.{self.number}"

    @property
    def control(self) -> str:
        """Where the harness finds it whatever is cut."""
        return f"198.18.1.{self.number}"

    @property
    def port(self) -> str:
        """Its device at the bridge."""
        return f"port-{self.number}"

    @property
    def device(self) -> str:
        """Its device in its own namespace."""
        return HARNESS_DEVICE if self.name == CLIENTS else DEVICE

    def addressing(self) -> list[str]:
        """What `ip` is told inside its namespace."""
        return [
            f"address add {self.host}/{PREFIX} dev {self.device}",
            f"address add {self.control}/{PREFIX} dev {self.device}",
            f"link set {self.device} up",
        ]

    def cabling(self) -> list[str]:
        """What `ip` is told where the bridge is."""
        return [
            f"link add {self.port} type veth peer name {self.device} netns {self.namespace}",
            f"link set {self.port} master {BRIDGE} up",
        ]


def bridging() -> list[str]:
    """What `ip` is told first where the bridge is to be."""
    return [
        f"link add {BRIDGE} type bridge",
        f"link set {BRIDGE} up",
        f"link add {SINK} type veth peer name {DRAIN}",
        f"link set {SINK} up",
        f"link set {DRAIN} up",
    ]


def hooking(node: Node) -> str:
    """What `tc` is told so that filters can be put where the packets of a member come in."""
    return f"qdisc add dev {node.port} clsact"


def shutting(sender: Node, receiver: Node) -> list[str]:
    """What `tc` is told to drop every packet of IP from one member to another.

    Probes have a filter of their own: what they lose is no evidence.
    """
    to = f"match ip dst {receiver.host}/32"
    probe = f"match ip protocol 17 0xff match ip dport {PROBE_PORT} 0xffff {to}"
    into = f"action mirred egress redirect dev {SINK}"
    return [
        f"filter add {_at(sender, preference_of_probes(receiver))} protocol ip u32 {probe} {into}",
        f"filter add {_at(sender, preference(receiver))} protocol ip u32 {to} {into}",
    ]


def opening(sender: Node, receiver: Node) -> list[str]:
    """What `tc` is told to let them pass again."""
    return [
        f"filter del {_at(sender, preference_of_probes(receiver))}",
        f"filter del {_at(sender, preference(receiver))}",
    ]


def showing(sender: Node) -> str:
    """What `tc` is told to show the filters on what a member sends."""
    return f"filter show dev {sender.port} ingress"


def preference(receiver: Node) -> int:
    """By which the filter on what is sent to a member is known; after that of its probes."""
    return 2 * receiver.number + 1


def preference_of_probes(receiver: Node) -> int:
    """By which the filter on probes to a member is known."""
    return 2 * receiver.number


def _at(sender: Node, preferred: int) -> str:
    return f"dev {sender.port} ingress pref {preferred}"
