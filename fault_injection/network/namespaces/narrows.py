"""Which links are narrow now: a device for each, through which the kernel lets so many bytes pass.

A token bucket keeps the packets that come too early. What still waits when the link is wide again
is lost with the device, and TCP sends it again.
Standard library only.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from fencepost.fault_injection.network.links.rules import Link
from fencepost.fault_injection.network.namespaces import layout
from fencepost.fault_injection.network.namespaces.kernel import KernelError, documents, obey
from fencepost.fault_injection.network.namespaces.layout import NetworkNode
from fencepost.fault_injection.network.namespaces.tally import NOTHING, Tally


class Narrows:
    """The narrow links of a switch; every method runs where its bridge is."""

    def __init__(self, nodes: Mapping[str, NetworkNode]) -> None:
        self._nodes = nodes
        self._paces: dict[Link, int] = {}
        self._before: dict[Link, Tally] = defaultdict(lambda: NOTHING)
        """By devices that are gone."""

    def set(self, wanted: Mapping[Link, int]) -> None:
        """Exactly these links are narrow, in thousand bytes per second; raises `KernelError`."""
        paces = {link: pace for link, pace in wanted.items() if set(link) <= set(self._nodes)}
        for link in sorted(set(self._paces) - set(paces)):
            self._widen(link)
        for link, pace in sorted(paces.items()):
            if self._paces.get(link) != pace:
                self._narrow(link, pace)

    def kept(self, links: Iterable[Link]) -> dict[Link, Tally]:
        """Of each link, how often a packet had to wait, and the bytes that came to where it did.

        Since the start, and nothing of a link where no packet had to. Raises `KernelError`.
        """
        wanted = list(links)
        now = self._read([link for link in wanted if link in self._paces])
        return {link: self._before[link].plus(now.get(link, NOTHING)) for link in wanted}

    def _narrow(self, link: Link, pace: int) -> None:
        ends = self._ends(link)
        is_new = link not in self._paces
        if is_new:
            obey("ip", layout.digging(*ends))
        steps = layout.pacing(*ends, pace)
        obey("tc", steps + layout.narrowing(*ends) if is_new else steps)
        self._paces[link] = pace

    def _widen(self, link: Link) -> None:
        ends = self._ends(link)
        obey("tc", layout.widening(*ends))
        self._before.update(self.kept([link]))
        del self._paces[link]
        obey("ip", layout.filling(*ends))

    def _read(self, links: list[Link]) -> dict[Link, Tally]:
        """What the queues of those links count."""
        if not links:
            return {}
        text = obey("tc", [layout.queue(*self._ends(link)) for link in links], "-s", "-j")
        shown = [queue for found in documents(text) for queue in found]
        if len(shown) != len(links):
            raise KernelError(f"tc showed {len(shown)} queues instead of {len(links)}")
        return {link: _counted(queue) for link, queue in zip(links, shown, strict=True)}

    def _ends(self, link: Link) -> tuple[NetworkNode, NetworkNode]:
        sender, receiver = link
        return self._nodes[sender], self._nodes[receiver]


def _counted(queue: Mapping[str, int]) -> Tally:
    if not queue["overlimits"]:
        return NOTHING
    return Tally(queue["overlimits"], queue["bytes"] + queue["backlog"])
