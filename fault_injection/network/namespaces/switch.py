"""The network of a run: a process with the namespaces of all members, which cuts their links.

`python -S -m fencepost.fault_injection.network.namespaces.switch DIRECTORY` takes commands as the
proxy does, rules and probes among them. It is itself in the namespace with the bridge. No namespace
has a name, so all are gone with the last process that is in one; nothing has to be undone.
`--try` builds such a network, cuts a link of it, and ends: 0, or 1 and why not. Standard library
only.
"""

import asyncio
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fencepost.fault_injection.network.active_rules import ActiveLinkRule
from fencepost.fault_injection.network.namespaces import kernel, layout
from fencepost.fault_injection.network.namespaces.kernel import KernelError, obey
from fencepost.fault_injection.network.namespaces.kernel_links import Counts, Cuts, Narrows
from fencepost.fault_injection.network.namespaces.layout import NetworkNode
from fencepost.fault_injection.network.namespaces.probes import DatagramProbes
from fencepost.fault_injection.network.namespaces.relay import Relay, why_no_relay
from fencepost.fault_injection.network.rules import CLIENTS, Link, LinkRule
from fencepost.fault_injection.network.service import (
    Answer,
    CommandError,
    LinkProbe,
    LinkService,
    serve,
)

TRY = "--try"
GONE_S = 5.0
"""How long the kernel may take to remove the network of the run before."""
POLL_S = 0.02


class Switch(LinkService):
    """All members and their links, which it cuts, narrows and delays."""

    def __init__(self) -> None:
        super().__init__()
        self.rules.on_change = self._apply
        self._nodes: dict[str, NetworkNode] = {}
        self._cuts = Cuts(self._nodes)
        self._narrows = Narrows(self._nodes)
        self._relay = Relay(self._nodes)
        self._datagrams = DatagramProbes(self._nodes)
        self._before: dict[str, Counts] = {}
        """By rule: what had happened on its links when it came."""

    def build(self) -> None:
        """Move to a network with the bridge, and connect the harness; raises `KernelError`.

        The harness gets a device and addresses, so it must be in a network of our own: one
        without routes to elsewhere.
        """
        others = sorted(kernel.routed_devices() - {layout.HARNESS_DEVICE})
        if others:
            raise KernelError(f"the harness is in a network that leads to {', '.join(others)}")
        harness = kernel.current()
        kernel.leave()
        kernel.settle_network()
        obey("ip", layout.bridging())
        if not why_no_relay():
            self._relay.open()
        self._join(CLIENTS, layout.HARNESS_NUMBER, harness)

    async def node(self, command: Mapping[str, Any]) -> Answer:
        """Give a member a network of its own; the same one at each call."""
        name = str(command["name"])
        if name not in self._nodes:
            if len(self._nodes) > layout.MEMBERS_MAX:
                raise CommandError("there are no more addresses")
            namespace = kernel.new_namespace()
            with kernel.inside(namespace):
                kernel.settle_network()
            self._join(name, len(self._nodes), namespace)
        node = self._nodes[name]
        return {"number": node.number, "namespace": str(node.namespace)}

    async def members(self, _command: Mapping[str, Any]) -> Answer:
        """The members that have a network here."""
        return {"names": sorted(self._nodes)}

    def start_probe(self, link: Link) -> LinkProbe:
        """A datagram from the link's sender to its receiver."""
        return self._datagrams.start(link)

    def require_able(self, rule: LinkRule) -> None:
        """Raise `CommandError` unless the kernel and the relay can do all that the rule says."""
        if not (rule.stalls or rule.kb_per_s or rule.delay_ms or rule.jitter_ms):
            raise CommandError("the kernel drops and keeps packets and resets nothing")
        if (rule.delay_ms or rule.jitter_ms) and not self._relay.is_open:
            raise CommandError(f"no packet can be kept for later: {why_no_relay()}")

    def begin(self, rule: LinkRule) -> None:
        """Apply the rule, and remember what was counted before it."""
        self._before[rule.rule_id] = self._counts(rule)
        super().begin(rule)

    def status_of(self, active: ActiveLinkRule) -> Answer:
        """The status of a rule, with what its links have lost or got late since it came."""
        since = self._counts(active.rule) - self._before[active.rule.rule_id]
        return {**active.status.to_json(), **since}

    def _join(self, name: str, number: int, namespace: int) -> None:
        """Connect the network behind the descriptor, that of a member, to the bridge."""
        path = Path(f"/proc/{os.getpid()}/fd/{namespace}")
        node = NetworkNode(name=name, number=number, namespace=path)
        with kernel.inside(namespace):
            _await_no_device(node.device)
        obey("ip", node.cabling())
        obey("tc", [layout.hooking(node)])
        with kernel.inside(namespace):
            obey("ip", node.addressing())
            self._datagrams.open(node)
        self._nodes[name] = node

    def _apply(self) -> None:
        links = {link for active in self.rules.applying() for link in active.rule.links}
        treated = {link: self.rules.treatment(link) for link in sorted(links)}
        late = {link: one for link, one in treated.items() if one.delay_ms or one.jitter_ms}
        try:
            self._cuts.set(link for link, one in treated.items() if one.is_stalled)
            # The relay sets the pace itself where a link is both.
            self._narrows.set(
                {a: b.kb_per_s for a, b in treated.items() if b.kb_per_s and a not in late}
            )
            self._relay.set(late)
        except KernelError as error:
            sys.exit(f"the network is in an unknown state: {error}")

    def _counts(self, rule: LinkRule) -> Counts:
        """The counts on the links of a rule since the start, of the effects that it has."""
        counts = Counts()
        if rule.stalls:
            counts += self._cuts.dropped(rule.links)
        if rule.kb_per_s:
            counts += self._narrows.kept(rule.links)
        if rule.kb_per_s or rule.delay_ms or rule.jitter_ms:
            counts += self._relay.kept(rule.links)
        return counts


def _await_no_device(device: str) -> None:
    """Wait until the network of the run before is gone, with its device at the harness."""
    deadline = time.monotonic() + GONE_S
    while device in kernel.devices():
        if time.monotonic() > deadline:
            raise KernelError(f"the device {device} of a run before is still there")
        time.sleep(POLL_S)


async def serve_network(directory: Path) -> None:
    """Build the network and obey commands until killed."""
    switch = Switch()
    switch.build()
    await serve(switch, directory)


async def attempt() -> None:
    """Build a network of our own, cut it and make it narrow; raises `KernelError`."""
    kernel.leave()
    kernel.settle_network()
    switch = Switch()
    switch.build()
    for name in ("one", "two"):
        await switch.node({"name": name})
    links = frozenset({("one", "two")})
    for rule in (
        LinkRule(rule_id="cut", links=links, stalls=True),
        LinkRule(rule_id="narrow", links=links, kb_per_s=1),
    ):
        await switch.add({"rules": [rule.to_json()]})
        await switch.remove({"rule_ids": [rule.rule_id]})


def main(arguments: list[str]) -> int:
    """Serve, or try; returns 1 after one sentence on stderr when the kernel refuses."""
    try:
        asyncio.run(attempt() if arguments == [TRY] else serve_network(Path(arguments[0])))
    except KernelError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
