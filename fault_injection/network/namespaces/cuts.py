"""Which links are cut now, by filters of the kernel, and what each filter has dropped.

The filters are where the packets of a sender come to the bridge, so all of them are in one
namespace, and any number of links changes by one run of `tc`.
Standard library only.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from fencepost.fault_injection.network.links.rules import Link
from fencepost.fault_injection.network.namespaces.kernel import KernelError, documents, obey
from fencepost.fault_injection.network.namespaces.layout import (
    NetworkNode,
    opening,
    preference,
    showing,
    shutting,
)
from fencepost.fault_injection.network.namespaces.tally import NOTHING, Tally


class Cuts:
    """The filters of a switch; every method runs where its bridge is."""

    def __init__(self, nodes: Mapping[str, NetworkNode]) -> None:
        self._nodes = nodes
        self._closed: set[Link] = set()
        self._before: dict[Link, Tally] = defaultdict(lambda: NOTHING)
        """By filters that are gone."""

    def set(self, wanted: Iterable[Link]) -> None:
        """Exactly these links are closed; raises `KernelError`."""
        links = {link for link in wanted if set(link) <= set(self._nodes)}
        opens, closes = sorted(self._closed - links), sorted(links - self._closed)
        totals = self.dropped(opens)
        lines = [line for link in opens for line in opening(*self._ends(link))]
        lines += [line for link in closes for line in shutting(*self._ends(link))]
        if not lines:
            return
        obey("tc", lines)
        self._closed = links
        self._before.update(totals)

    def dropped(self, links: Iterable[Link]) -> dict[Link, Tally]:
        """What each of the links has lost since the start; raises `KernelError`."""
        wanted = list(links)
        now = self._read({link[0] for link in wanted if link in self._closed})
        return {link: self._before[link].plus(now.get(link, NOTHING)) for link in wanted}

    def _read(self, senders: Iterable[str]) -> dict[Link, Tally]:
        """What the filters that are in place have dropped."""
        names = sorted(senders)
        if not names:
            return {}
        text = obey("tc", [showing(self._nodes[name]) for name in names], "-s", "-j")
        shown = documents(text)
        if len(shown) != len(names):
            raise KernelError(f"tc showed {len(shown)} lists of filters instead of {len(names)}")
        receivers = {preference(node): name for name, node in self._nodes.items()}
        return {
            (sender, receivers[one["pref"]]): _counted(one["options"]["actions"])
            for sender, filters in zip(names, shown, strict=True)
            for one in filters
            if one["pref"] in receivers and "actions" in one.get("options", {})
        }

    def _ends(self, link: Link) -> tuple[NetworkNode, NetworkNode]:
        sender, receiver = link
        return self._nodes[sender], self._nodes[receiver]


def _counted(actions: list[dict[str, Any]]) -> Tally:
    stats = actions[0]["stats"]
    return Tally(int(stats["packets"]), int(stats["bytes"]))
