"""Delayed packets: the kernel redirects them to a TAP device, and this process sends them on later.

Packets on one link never overtake each other. The device and all packets that wait in it are gone
when its last descriptor is closed.
Standard library only.
"""

import asyncio
import fcntl
import os
import struct
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from random import Random

from fencepost.fault_injection.network.namespaces import layout
from fencepost.fault_injection.network.namespaces.kernel import obey
from fencepost.fault_injection.network.namespaces.kernel_links import Counts, KernelLinks
from fencepost.fault_injection.network.namespaces.layout import FilterStage, NetworkNode
from fencepost.fault_injection.network.rules import Link, Treatment

TUN = "/dev/net/tun"
TUNSETIFF = 0x400454CA
TAP_WITHOUT_HEADER = 0x0002 | 0x1000
"""IFF_TAP and IFF_NO_PI of linux/if_tun.h: frames as they are on a wire."""
FRAME_MAX = 64 * 1024 + 18
READS_MAX = 64
"""Frames that are read before anything else gets its turn."""
QUEUE_MAX = 4 * 1024 * 1024
"""Bytes that wait on one link; what comes then is dropped, and TCP goes slower."""
IPV4 = b"\x08\x00"
UDP = 17


def why_no_relay() -> str:
    """Why packets cannot be delayed here; empty when they can."""
    try:
        os.close(os.open(TUN, os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        return f"{TUN} cannot be opened: {error.strerror}"
    return ""


@dataclass(slots=True)
class Late:
    """What waits on one link."""

    frames: deque[tuple[float, bytes]] = field(default_factory=deque)
    """When each is due by the clock of the loop, and the frame."""
    size: int = 0
    free_at: float = 0.0
    """When the last one is due."""


class Relay(KernelLinks):
    """The late links of a switch; it is opened where its bridge is."""

    def __init__(self, nodes: Mapping[str, NetworkNode]) -> None:
        super().__init__(nodes)
        self._device: int | None = None
        self._treatments: dict[Link, Treatment] = {}
        self._late: dict[Link, Late] = defaultdict(Late)
        self._bytes_late: Counter[Link] = Counter()
        """Probes not counted."""
        self._random: dict[Link, Random] = {}

    @property
    def is_open(self) -> bool:
        """True when it can delay packets."""
        return self._device is not None

    def open(self) -> None:
        """Add the device to the bridge; raises `OSError`."""
        device = os.open(TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        request = struct.pack("16sH22x", layout.RELAY.encode(), TAP_WITHOUT_HEADER)
        fcntl.ioctl(device, TUNSETIFF, request)
        obey("ip", layout.relaying())
        asyncio.get_running_loop().add_reader(device, self._read)
        self._device = device

    def set(self, wanted: Mapping[Link, Treatment]) -> None:
        """Delay exactly these links, by so much; raises `KernelError`."""
        links = self.known(wanted)
        goes, comes = sorted(set(self._treatments) - links), sorted(links - set(self._treatments))
        lines = [
            line for link in goes for line in layout.passing(*self.ends(link), FilterStage.DELAY)
        ]
        for link in comes:
            lines += layout.redirecting(*self.ends(link), FilterStage.DELAY, layout.RELAY)
        if lines:
            obey("tc", lines)
        if goes:
            self._read()  # what had come before the filter was gone
        self._treatments = {link: wanted[link] for link in links}
        for link in goes:
            self._release(link)

    def kept(self, links: Iterable[Link]) -> Counts:
        """The bytes that came late on the links since the start, those of probes not counted."""
        return Counter(bytes_delayed=sum(self._bytes_late[link] for link in links))

    def _read(self) -> None:
        for _ in range(READS_MAX):
            try:
                frame = os.read(self._open_device(), FRAME_MAX)
            except BlockingIOError:
                return
            self._take(frame)

    def _take(self, frame: bytes) -> None:
        """Queue a frame behind those before it."""
        link = self._link_of(frame)
        treatment = self._treatments.get(link) if link else None
        if link is None or treatment is None:
            self._pass(frame)
            return
        late = self._late[link]
        if late.size + len(frame) > QUEUE_MAX:
            return
        loop = asyncio.get_running_loop()
        late_ms = treatment.delay_ms + self._chance_of(link).uniform(0, treatment.jitter_ms)
        late.free_at = max(loop.time() + late_ms / 1000, late.free_at)
        if treatment.kb_per_s:
            late.free_at += len(frame) / (treatment.kb_per_s * 1000)
        late.frames.append((late.free_at, frame))
        late.size += len(frame)
        if not is_probe(frame):
            self._bytes_late[link] += len(frame)
        loop.call_at(late.free_at, self._release, link)

    def _release(self, link: Link) -> None:
        """Send on the packets that are due; all of them when the link is not delayed any more."""
        late, treatment = self._late[link], self._treatments.get(link)
        now = asyncio.get_running_loop().time()
        while late.frames and (treatment is None or late.frames[0][0] <= now):
            _, frame = late.frames.popleft()
            late.size -= len(frame)
            if treatment is None or not treatment.is_stalled:
                self._pass(frame)
        if not late.frames:
            late.free_at = 0.0

    def _pass(self, frame: bytes) -> None:
        """Give the frame to the bridge, which drops it when it is full."""
        try:
            os.write(self._open_device(), frame)
        except BlockingIOError:  # as a network does that is full
            return

    def _open_device(self) -> int:
        assert self._device is not None
        return self._device

    def _link_of(self, frame: bytes) -> Link | None:
        """The sender and the receiver of a frame."""
        if frame[12:14] != IPV4:
            return None
        names = {node.host: name for name, node in self._nodes.items()}
        sender, receiver = names.get(_host(frame[26:30])), names.get(_host(frame[30:34]))
        return (sender, receiver) if sender and receiver else None

    def _chance_of(self, link: Link) -> Random:
        """The random generator of the link, the same in each run."""
        return self._random.setdefault(link, Random("-".join(link)))


def is_probe(frame: bytes) -> bool:
    """True for a datagram to the port of probes, in a frame with IPv4."""
    header = 4 * (frame[14] & 0x0F)
    port = frame[14 + header + 2 : 14 + header + 4]
    return frame[23] == UDP and int.from_bytes(port) == layout.PROBE_PORT


def _host(address: bytes) -> str:
    return ".".join(map(str, address))
