"""The network of one run: the places of its members, and all names in it. Pure.

Every member has a network namespace of its own, joined by a pair of devices to one bridge in
another namespace. A member has two addresses: other members use the first, and packets to it can
be dropped; only the harness uses the second, to observe it. Both are of the range that
RFC 2544 reserves for network tests, and exist in our namespaces only.
Standard library only.
"""

from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from fencepost.fault_injection.network.rules import CLIENTS

BRIDGE = "bridge"
SINK = "sink"
"""What is sent into it is gone."""
DRAIN = "drain"
"""The other end of `SINK`."""
DEVICE = "eth0"
"""A member's own end of its pair."""
RELAY = "relay"
"""What is sent into it is read by the switch, and what the switch writes comes out of it."""
HARNESS_DEVICE = "fencepost"
HARNESS_NUMBER = 254
MEMBERS_MAX = 250
PREFIX = 24
BROKER_PORT = 9092
ZOOKEEPER_PORT = 2181
PROBE_PORT = 7
BURST_MIN = 2_000
"""Bytes that may pass a narrow link at once: one packet, with its header."""
QUEUE_MAX = 256 * 1024
"""Bytes that wait before a narrow link; what comes then is dropped, and TCP goes slower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkNode:
    """A member and its network."""

    name: str
    number: int
    namespace: Path
    """What a process opens to enter it, as long as the switch runs."""

    @property
    def host(self) -> str:
        """The address that other members use."""
        return f"198.18.0.{self.number}"

    @property
    def control(self) -> str:
        """The address that the harness uses, which is never cut."""
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
        """The commands for `ip` inside its namespace."""
        return [
            f"address add {self.host}/{PREFIX} dev {self.device}",
            f"address add {self.control}/{PREFIX} dev {self.device}",
            f"link set {self.device} up",
        ]

    def cabling(self) -> list[str]:
        """The commands for `ip` where the bridge is."""
        return [
            f"link add {self.port} type veth peer name {self.device} netns {self.namespace}",
            f"link set {self.port} master {BRIDGE} up",
        ]


class FilterStage(IntEnum):
    """What filters do to a link; they are asked in this order."""

    CUT = 0
    DELAY = 1_000
    NARROW = 2_000

    def preference(self, receiver: NetworkNode) -> int:
        """The priority of the filter on packets to a member, which identifies it."""
        return self + 2 * receiver.number + 1

    def preferences(self, receiver: NetworkNode) -> list[int]:
        """The priorities of all its filters: first that of probes, unless the relay takes them too.

        Dropped probes are counted apart, and probes bypass a narrow link: neither is evidence
        of the effect of a fault.
        """
        last = self.preference(receiver)
        return [last] if self is FilterStage.DELAY else [last - 1, last]


def bridging() -> list[str]:
    """The first commands for `ip` where the bridge is to be."""
    return [
        f"link add {BRIDGE} type bridge",
        f"link set {BRIDGE} up",
        f"link add {SINK} type veth peer name {DRAIN}",
        f"link set {SINK} up",
        f"link set {DRAIN} up",
    ]


def hooking(node: NetworkNode) -> str:
    """The command for `tc` that allows filters where the packets of a member come in."""
    return f"qdisc add dev {node.port} clsact"


def redirecting(
    sender: NetworkNode, receiver: NetworkNode, stage: FilterStage, device: str
) -> list[str]:
    """The commands for `tc` that redirect IP packets from one member to another to a device."""
    to = f"match ip dst {receiver.host}/32"
    into = f"action mirred egress redirect dev {device}"
    probe = f"match ip protocol 17 0xff match ip dport {PROBE_PORT} 0xffff {to}"
    of_probes = "flowid :1" if stage is FilterStage.NARROW else into
    *first, last = stage.preferences(receiver)
    lines = [f"{_filter(sender, each)} {probe} {of_probes}" for each in first]
    return [*lines, f"{_filter(sender, last)} {to} {into}"]


def passing(sender: NetworkNode, receiver: NetworkNode, stage: FilterStage) -> list[str]:
    """The commands for `tc` that let them go to the receiver again."""
    return [f"filter del {_at(sender, each)}" for each in stage.preferences(receiver)]


def filters_of(sender: NetworkNode) -> str:
    """The command for `tc` that shows the filters on packets from a member."""
    return f"filter show dev {sender.port} ingress"


def relaying() -> list[str]:
    """The commands for `ip` once the relay's device is there."""
    return [*_outlet(RELAY), f"link set dev {RELAY} up"]


def narrow(sender: NetworkNode, receiver: NetworkNode) -> str:
    """The device through which packets from one member to another pass slowly."""
    return f"narrow-{sender.number}-{receiver.number}"


def digging(sender: NetworkNode, receiver: NetworkNode) -> list[str]:
    """The commands for `ip` that add this device; its output goes to the bridge."""
    device, outlet = narrow(sender, receiver), f"out-{sender.number}-{receiver.number}"
    return [
        f"link add {device} type veth peer name {outlet}",
        *_outlet(outlet),
        f"link set dev {outlet} up",
        f"link set dev {device} up",
    ]


def filling(sender: NetworkNode, receiver: NetworkNode) -> list[str]:
    """The command for `ip` that deletes the device and what waited for it."""
    return [f"link del dev {narrow(sender, receiver)}"]


def pacing(sender: NetworkNode, receiver: NetworkNode, kb_per_s: int) -> list[str]:
    """The command for `tc` that limits the device to so many thousand bytes per second."""
    burst = max(BURST_MIN, 2 * kb_per_s)  # what passes in 2 ms
    limit = max(QUEUE_MAX, burst)
    rate = f"rate {kb_per_s}kbps burst {burst} limit {limit}"
    return [f"qdisc replace dev {narrow(sender, receiver)} root tbf {rate}"]


def queue(sender: NetworkNode, receiver: NetworkNode) -> str:
    """The command for `tc` that shows the queue of the device."""
    return f"qdisc show dev {narrow(sender, receiver)}"


def _filter(sender: NetworkNode, preferred: int) -> str:
    return f"filter add {_at(sender, preferred)} protocol ip u32"


def _at(sender: NetworkNode, preferred: int) -> str:
    return f"dev {sender.port} ingress pref {preferred}"


def _outlet(device: str) -> list[str]:
    """The commands for `ip` for a device that only sends, on behalf of other devices."""
    alone = "learning off flood off mcast_flood off bcast_flood off"
    return [
        f"link set dev {device} master {BRIDGE}",
        f"link set dev {device} type bridge_slave {alone}",
    ]
