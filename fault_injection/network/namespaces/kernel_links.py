"""Which links are cut and which are narrow now, by filters and queues of the kernel.

The filters are where the packets of a sender come to the bridge, so all of them are in one
namespace, and any number of links is cut by one run of `tc`. A narrow link has a device of its own
with a token bucket, which keeps the packets that come too early; what still waits when the link is
wide again is lost with the device, and TCP sends it again.
Standard library only.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from fencepost.fault_injection.network.namespaces import layout
from fencepost.fault_injection.network.namespaces.kernel import KernelError, documents, obey
from fencepost.fault_injection.network.namespaces.layout import FilterStage, NetworkNode
from fencepost.fault_injection.network.rules import Link

Counts = Counter[str]
"""By the name of a field of `LinkRuleStatus`."""
NodePair = tuple[NetworkNode, NetworkNode]


class KernelLinks:
    """What is done to links of members that have a network; methods run where the bridge is."""

    def __init__(self, nodes: Mapping[str, NetworkNode]) -> None:
        self._nodes = nodes
        self._before: defaultdict[Link, Counts] = defaultdict(Counter)
        """What was counted by filters and devices that are gone."""

    def ends(self, link: Link) -> NodePair:
        """The networks of the sender and of the receiver."""
        sender, receiver = link
        return self._nodes[sender], self._nodes[receiver]

    def known(self, links: Iterable[Link]) -> set[Link]:
        """Those of the links of which both ends have a network."""
        return {link for link in links if set(link) <= set(self._nodes)}

    def total(self, links: Iterable[Link], now: Mapping[Link, Counts]) -> Counts:
        """What is counted on these links since the start, with what is counted `now`."""
        counts = Counts()
        for link in links:
            counts.update(self._before[link])
            counts.update(now.get(link, {}))
        return counts


class Cuts(KernelLinks):
    """The links that are cut."""

    def __init__(self, nodes: Mapping[str, NetworkNode]) -> None:
        super().__init__(nodes)
        self._cut: set[Link] = set()

    def set(self, wanted: Iterable[Link]) -> None:
        """Cut exactly these links; raises `KernelError`."""
        links = self.known(wanted)
        opens, cuts = sorted(self._cut - links), sorted(links - self._cut)
        if not opens and not cuts:
            return
        counted = self._read(opens)
        lines = [
            line for link in opens for line in layout.passing(*self.ends(link), FilterStage.CUT)
        ]
        for link in cuts:
            lines += layout.redirecting(*self.ends(link), FilterStage.CUT, layout.SINK)
        obey("tc", lines)
        self._cut = links
        for link, counts in counted.items():
            self._before[link].update(counts)

    def dropped(self, links: Iterable[Link]) -> Counts:
        """What the links have lost since the start; raises `KernelError`."""
        links = list(links)
        return self.total(links, self._read(self._cut.intersection(links)))

    def _read(self, links: Iterable[Link]) -> dict[Link, Counts]:
        """What the filters on these links have dropped."""
        names = sorted({sender for sender, _ in links})
        if not names:
            return {}
        text = obey("tc", [layout.filters_of(self._nodes[name]) for name in names], "-s", "-j")
        shown = documents(text)
        if len(shown) != len(names):
            raise KernelError(f"tc showed {len(shown)} lists of filters instead of {len(names)}")
        receivers = {FilterStage.CUT.preference(node): name for name, node in self._nodes.items()}
        found = {
            (sender, receivers[one["pref"]]): _dropped(one["options"]["actions"])
            for sender, filters in zip(names, shown, strict=True)
            for one in filters
            if one["pref"] in receivers and "actions" in one.get("options", {})
        }
        return {link: found[link] for link in links if link in found}


class Narrows(KernelLinks):
    """The links that are narrow."""

    def __init__(self, nodes: Mapping[str, NetworkNode]) -> None:
        super().__init__(nodes)
        self._paces: dict[Link, int] = {}

    def set(self, wanted: Mapping[Link, int]) -> None:
        """Make exactly these links narrow, in thousand bytes per second; raises `KernelError`."""
        paces = {link: wanted[link] for link in sorted(self.known(wanted))}
        for link in sorted(set(self._paces) - set(paces)):
            self._widen(link)
        for link, pace in paces.items():
            if self._paces.get(link) != pace:
                self._narrow(link, pace)

    def kept(self, links: Iterable[Link]) -> Counts:
        """How often a packet had to wait, and the bytes that came to where it did.

        Since the start, and nothing of a link where no packet had to. Raises `KernelError`.
        """
        links = list(links)
        return self.total(links, self._read([link for link in links if link in self._paces]))

    def _narrow(self, link: Link, pace: int) -> None:
        ends = self.ends(link)
        steps = layout.pacing(*ends, pace)
        if link not in self._paces:
            obey("ip", layout.digging(*ends))
            steps += layout.redirecting(*ends, FilterStage.NARROW, layout.narrow(*ends))
        obey("tc", steps)
        self._paces[link] = pace

    def _widen(self, link: Link) -> None:
        ends = self.ends(link)
        obey("tc", layout.passing(*ends, FilterStage.NARROW))
        self._before[link].update(self._read([link])[link])
        del self._paces[link]
        obey("ip", layout.filling(*ends))

    def _read(self, links: list[Link]) -> dict[Link, Counts]:
        """What the queues of those links count."""
        if not links:
            return {}
        text = obey("tc", [layout.queue(*self.ends(link)) for link in links], "-s", "-j")
        shown = [queue for found in documents(text) for queue in found]
        if len(shown) != len(links):
            raise KernelError(f"tc showed {len(shown)} queues instead of {len(links)}")
        return {link: _kept(queue) for link, queue in zip(links, shown, strict=True)}


def _dropped(actions: list[dict[str, Any]]) -> Counts:
    stats = actions[0]["stats"]
    return Counter(packets_dropped=int(stats["packets"]), bytes_dropped=int(stats["bytes"]))


def _kept(queue: Mapping[str, int]) -> Counts:
    if not queue["overlimits"]:
        return Counter()
    return Counter(
        packets_kept=queue["overlimits"], bytes_delayed=queue["bytes"] + queue["backlog"]
    )
