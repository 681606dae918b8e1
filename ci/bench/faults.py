"""What faults cost, and how soon they are there.

Run `… -m fencepost.ci.bench.faults [pause|expiry|rules|proxy|cuts]`.

Each line has the target for two cores. A pause counts from the signal to the moment when every
thread of a broker is seen to stand still; with the ledger, from the line on the disk that says how
it is undone. An expiry counts from the first request to the moment when another session hears that
the ephemeral znode is gone; by the server itself, until it says that nothing of the session is
left. A rule counts as what it adds to requests that it does not apply to, between two ends over the
loopback; the proxy, as what it adds to them when they go through it. A cut by the kernel isolates
one of three brokers, and counts from the command to the answer; it needs root.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from typing import Any

from fencepost.ci.bench.control_plane import bench_cluster
from fencepost.ci.bench.measured import (
    Benches,
    Measured,
    measure_all,
    quantile,
    seconds_of,
    show_measured,
)
from fencepost.ci.screens.console import say
from fencepost.conformance.adapters.choices import OWN
from fencepost.conformance.adapters.zookeepers import ZooKeeperInUse, zookeeper_for
from fencepost.fault_injection.injectors.links import cut_off
from fencepost.fault_injection.network.namespaces.links import (
    NamespaceLinks,
    NamespaceWiring,
    NoNamespacesError,
    enter_own_network,
)
from fencepost.fault_injection.network.proxy.links import ProxyLinks
from fencepost.fault_injection.network.rules import LinkRule
from fencepost.fault_injection.network.wiring import broker_name
from fencepost.fault_injection.processes.container_engine import NoEngineError
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.fault_injection.zookeeper.image import ImageError
from fencepost.fault_injection.zookeeper.sessions import expire_session
from fencepost.spec.scratch import scratch_folder
from fencepost.spec.trace import LamportClock
from fencepost.spec.vocabulary import BrokerId
from fencepost.spec.wire.fault_control_pb2 import RpcRule

PAUSES = 200
PAUSE = "pause"
PAUSE_TARGET_MS = 5.0
"""Of the 99th percentile."""
EXPIRIES = 200
EXPIRY_TARGET_MS = 50.0
"""Of the 99th percentile."""
SERVER_TARGET_MS = 20.0
"""The same, of an expiry by the server itself."""
REQUESTS = 300
"""In a row, with a rule and without, again and again."""
ROUNDS = 10
RULE_TARGET_MS = 0.05
"""Of the median."""
PROXY_TARGET_MS = 0.1
"""Of the median, added to a request and its answer together."""
RECEIVER = BrokerId(2)
DEADLINE_MS = 10_000
CUTS = 200
CUT_TARGET_MS = 40.0
"""Of the 99th percentile."""
CUT_BROKERS = (1, 2, 3)


def pauses() -> Iterator[Measured]:
    """A broker that works stands still, and goes on."""
    with bench_cluster(1) as cluster:
        process = cluster.process(1)
        work = {
            "pause, with the ledger": process.pause,
            "resume, with the ledger": process.resume,
            PAUSE: process.stand,
            "resume": process.go_on,
        }
        times_ms: dict[str, list[float]] = {what: [] for what in work}
        for _ in range(PAUSES):
            for what in ("pause, with the ledger", "resume", PAUSE, "resume, with the ledger"):
                times_ms[what].append(seconds_of(work[what]) * 1000)
    for what, found in times_ms.items():
        yield _slowest(what, found, PAUSE_TARGET_MS)


def expiries() -> Iterator[Measured]:
    """Sessions with an ephemeral znode end while their owners live, in each ZooKeeper of ours."""
    for choice in OWN:
        try:
            found, by_server = expired_ms(choice)
        except (NoEngineError, ImageError) as error:
            say(f"skipped: expiry, {choice}: {error}")
            continue
        yield _slowest(f"expiry, {choice}", found, EXPIRY_TARGET_MS)
        if by_server:
            yield _slowest(f"expiry by the server, {choice}", by_server, SERVER_TARGET_MS)


def _slowest(what: str, found: list[float], target: float) -> Measured:
    """The 99th percentile against its target."""
    return _line(what, quantile(found, 0.5), quantile(found, 0.99), target, is_p99=True)


def _line(what: str, p50: float, p99: float, target: float, *, is_p99: bool) -> Measured:
    return Measured(
        what=what,
        size=f"p50 {p50:.3f}, p99 {p99:.3f}",
        figure=p99 if is_p99 else p50,
        target=target,
        unit="ms",
    )


def ended_ms(zookeeper: ZooKeeperInUse) -> Iterator[float]:
    """How long the server took each time to end a session that owns a znode, if it can be told."""
    end = zookeeper.end_session
    for _ in range(EXPIRIES if end else 0):
        with ZooKeeperClient(zookeeper.address) as owner:
            owner.create("/owned", ephemeral=True)
            assert end is not None
            yield 1000 * seconds_of(partial(end, owner.session_id))


def expired_ms(choice: str) -> tuple[list[float], list[float]]:
    """How long each znode outlived its session in a ZooKeeper of our own: as usual, and by it."""
    with scratch_folder("bench") as folder, Supervisor(folder, "bench") as supervisor:
        around = zookeeper_for("bench", supervisor=supervisor, folder=folder, choice=choice)
        with around as zookeeper:
            usual = [gone_ms(zookeeper.address) for _ in range(EXPIRIES)]
            return usual, list(ended_ms(zookeeper))


def gone_ms(address: str) -> float:
    """How long the znode of a session outlived the deed."""
    with ZooKeeperClient(address) as owner:
        owner.create("/owned", ephemeral=True)
        session = owner.session_id, owner.session_password
        evidence = expire_session(address, *session, watch_path="/owned")
    gone = evidence["ephemeral_gone_ms"]
    assert isinstance(gone, float)
    return gone


Rounds = Callable[[], Awaitable[list[float]]]
"""Makes requests and tells how long each took, in ms."""


class Ends:
    """A broker that asks and one that answers at once."""

    def __init__(self) -> None:
        rpc = import_module("fencepost.impl.shell.rpc.service")
        addresses = import_module("fencepost.impl.shell.zookeeper.addresses").AddressBook()
        self._messages = import_module("fencepost.impl.core.types.messages")
        self._send = import_module("fencepost.impl.core.types.effects").Send
        self._answered: asyncio.Future[None] | None = None
        self.address = ""
        """Where the second one listens."""
        self.server = rpc.RpcServer(RECEIVER, "broker-2", LamportClock(), self._answer)
        self.client = rpc.RpcClient(
            "broker-1", LamportClock(), addresses, self._look_up, self._take
        )

    async def ask(self, request: object) -> None:
        """The request was answered."""
        self._answered = asyncio.get_running_loop().create_future()
        self.client.send(
            self._send(request_id=1, to=RECEIVER, request=request, timeout_ms=DEADLINE_MS)
        )
        await self._answered

    def requests(self) -> dict[str, object]:
        """One that travels in bundles, and one that travels alone."""
        fetch = self._messages.FetchRequest(topic="t", partition=0, fetch_offset=0)
        command = self._messages.LeaderAndIsrRequest(
            controller_id=1, controller_epoch=1, partitions=()
        )
        return {"Fetch": fetch, "LeaderAndIsr": command}

    def _answer(self, event: Any) -> None:  # noqa: ANN401  known by name alone
        method = type(event.request).__name__.removesuffix("Request")
        of_fetch = {"broker_id": RECEIVER, "fetch_offset": 0} if method == "Fetch" else {}
        response = getattr(self._messages, f"{method}Response")(**of_fetch)
        self.server.reply(event.token, response)

    def _take(self, event: Any) -> None:  # noqa: ANN401  as above
        if type(event).__name__ == "RequestFailed":
            raise SystemExit("a request of the bench failed")
        assert self._answered is not None
        self._answered.set_result(None)

    async def _look_up(self, broker_id: BrokerId) -> None:
        raise SystemExit(f"broker {broker_id} has no address")


@asynccontextmanager
async def two_ends() -> Any:  # noqa: ANN401  as above
    """Both, connected."""
    ends = Ends()
    port = ends.server.bind("127.0.0.1", 0)
    await ends.server.start()
    ends.address = f"127.0.0.1:{port}"
    await ends.client.reach(RECEIVER, ends.address)
    try:
        yield ends
    finally:
        await ends.client.close()
        await ends.server.stop()


async def round_trips(ask: Callable[[], Awaitable[None]]) -> list[float]:
    """Each in ms."""
    times_ms = []
    for _ in range(REQUESTS):
        begun = time.perf_counter()
        await ask()
        times_ms.append((time.perf_counter() - begun) * 1000)
    return times_ms


async def in_turn(plain: Rounds, other: Rounds) -> dict[bool, list[float]]:
    """The times of both, in ms; `ROUNDS` of one after the other, as the machine's load changes."""
    found: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(ROUNDS):
        found[False] += await plain()
        found[True] += await other()
    return found


async def measure_rules() -> list[Measured]:
    """Requests without a rule, then with one that is for another topic, in turn."""
    lines = []
    async with two_ends() as ends:
        for method, request in ends.requests().items():
            ask = partial(round_trips, partial(ends.ask, request))

            async def ruled(ask: Rounds = ask) -> list[float]:
                ends.client.rules.add(RpcRule(rule_id="bench", to=-1, verb="hold", topic="other"))
                times_ms = await ask()
                await ends.client.rules.remove("bench")
                return times_ms

            await ends.ask(request)  # the connection
            found = await in_turn(ask, ruled)
            what = f"a rule, beside {method} ({quantile(found[False], 0.5):.2f} ms)"
            lines.append(_added(what, found, RULE_TARGET_MS))
    return lines


def _added(what: str, found: dict[bool, list[float]], target: float) -> Measured:
    """How much longer requests take with something than without."""
    p50, p99 = (
        quantile(found[True], share) - quantile(found[False], share) for share in (0.5, 0.99)
    )
    return _line(what, p50, p99, target, is_p99=False)


def rules() -> Iterator[Measured]:
    """What a rule adds to requests that it does not apply to."""
    yield from asyncio.run(measure_rules())


async def measure_proxy(links: ProxyLinks) -> list[Measured]:
    """Requests on a connection of its own, then through the proxy, in turn."""
    lines = []
    async with two_ends() as direct, two_ends() as led:
        place = links.open_place(
            "bench", server="broker-2", client="broker-1", upstream=led.address
        )
        await led.client.reach(RECEIVER, place)
        requests = zip(direct.requests().items(), led.requests().values(), strict=True)
        for (method, request), same in requests:
            plain, other = partial(direct.ask, request), partial(led.ask, same)
            await plain()  # the connections
            await other()
            found = await in_turn(partial(round_trips, plain), partial(round_trips, other))
            what = f"the proxy, around {method} ({quantile(found[False], 0.5):.2f} ms)"
            lines.append(_added(what, found, PROXY_TARGET_MS))
    return lines


def proxy() -> Iterator[Measured]:
    """What the proxy adds to requests on links that no rule is about."""
    with (
        scratch_folder("bench") as folder,
        Supervisor(folder, "bench-proxy") as supervisor,
    ):
        links = ProxyLinks.start(supervisor)
        try:
            yield from asyncio.run(measure_proxy(links))
        finally:
            links.close()


def cuts() -> Iterator[Measured]:
    """The kernel cuts the five links of a broker; from here on the process has its own network."""
    try:
        enter_own_network()
    except NoNamespacesError as error:
        say(f"skipped: cuts: {error}")
        return
    closing_ms, opening_ms = [], []
    with scratch_folder("bench") as folder, Supervisor(folder, "bench-cuts") as supervisor:
        switch = NamespaceLinks.start(supervisor)
        wiring = NamespaceWiring(links=switch, zookeeper="198.18.0.9:1", broker_ids=CUT_BROKERS)
        for broker_id in CUT_BROKERS:
            switch.node(broker_name(broker_id))
        rule = LinkRule(rule_id="r", links=cut_off(wiring, CUT_BROKERS[0]), stalls=True)
        for _ in range(CUTS):
            closing_ms.append(1000 * seconds_of(partial(switch.add, [rule])))
            opening_ms.append(1000 * seconds_of(partial(switch.remove, ["r"])))
        switch.close()
    yield _slowest("the kernel cuts a broker off", closing_ms, CUT_TARGET_MS)
    yield _slowest("the kernel reaches it again", opening_ms, CUT_TARGET_MS)


BENCHES: Benches = {
    "pause": pauses,
    "expiry": expiries,
    "rules": rules,
    "proxy": proxy,
    "cuts": cuts,
}


def main(names: list[str]) -> None:
    """Measure what is named, or all."""
    show_measured("faults", measure_all(names, BENCHES))
    say("of a pause, an expiry and a cut the figure is the p99, of the rest the p50")


if __name__ == "__main__":
    main(sys.argv[1:])
