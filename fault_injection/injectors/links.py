"""Faults on the links between processes: rules of the proxy, what they counted, and probes.

A probe is a connection of the proxy's own that goes the way of a member's connections; in network
namespaces, where the kernel drops packets instead, it is a packet. By probes it is shown that what
should be closed is closed, that the rest is open, and that all is open again.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from fencepost.fault_injection.faults.network_faults import (
    BridgeBrokers,
    CutOneWay,
    DelayLink,
    FlapBroker,
    IsolateBroker,
    NarrowLink,
    PartitionBrokers,
    ResetStreams,
    RingOfMajorities,
    SwizzleBrokers,
    windows_of_moments,
)
from fencepost.fault_injection.faults.zookeeper_faults import (
    ERROR_CODES,
    CutZooKeeper,
    DelayZooKeeper,
    DropConnection,
    FailZooKeeperRequests,
    HurtZooKeeperLink,
    LoseZooKeeperReplies,
)
from fencepost.fault_injection.injectors.injection import ProcessInjector, registered
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.injectors.processes import process_state
from fencepost.fault_injection.network.link_sets import around_bridge, between, outside_majorities
from fencepost.fault_injection.network.rules import Link, LinkRule, LinkRuleStatus
from fencepost.fault_injection.network.wiring import Wiring, broker_name

SILENT_MS = 200
"""A probe that has not passed by then, and by three times the slowest other, is stopped."""
STRAGGLER_MS = 1_000
"""So long other probes are waited for; a busy broker may be slow."""


class LinkInjector(ProcessInjector[Any]):
    """What all of them have in common: rules come, are looked at, and go."""

    rules: Sequence[LinkRule] = ()
    last: Sequence[LinkRuleStatus] = ()
    """What the rules had done when they were last looked at."""

    @property
    def wiring(self) -> Wiring:
        """The places of the cluster; raises `InjectionError` when it has none."""
        return self.target.wiring

    @property
    def links(self) -> frozenset[Link]:
        """All that the rules are about."""
        return frozenset(link for rule in self.rules for link in rule.links)

    @abstractmethod
    def make_rules(self) -> list[LinkRule]:
        """The rules that are the fault."""

    @abstractmethod
    def proof(self) -> str | None:
        """The evidence, once the rules were looked at."""

    def inject(self) -> None:
        """The rules apply."""
        self.before = self.registration()
        self.rules = self.make_rules()
        if not self.links:
            raise InjectionError(f"{self.fault.kind}: there is no way between these")
        self.wiring.links.add(self.rules)

    def evidence(self) -> str | None:
        """What the rules did."""
        found = self.wiring.links.status(self._names())
        self.last = [status for status in found if status is not None]
        return self.proof() if len(self.last) == len(self.rules) else None

    def heal(self) -> None:
        """The rules apply no more."""
        if self.rules:
            found = self.wiring.links.remove(self._names())
            self.last = [status for status in found if status is not None] or self.last

    def healed(self) -> str | None:
        """Probes pass on all links, and the broker that was hurt is registered."""
        if not self.rules:
            return "nothing was done"
        passed = self.open_again()
        now = self.registration()
        if passed is None or (self.resolved.victim_id is not None and now is None):
            return None
        return f"{passed}, {registered(now)}" if now is not None else passed

    def open_again(self) -> str | None:
        """What shows that bytes pass on all links that were hurt."""
        ways = self.probed(self.links)
        results = self._results("healed", ways)
        if any(result is None for result in results.values()):
            if self._waited_ms("healed") > STRAGGLER_MS:  # it may have come before the server
                self.wiring.links.end_probe(self._probe("healed"))
            return None
        self.wiring.links.end_probe(self._probe("healed"))
        return f"{counted(len(results), 'way')} open to probes"

    def probed(self, links: Iterable[Link]) -> frozenset[Link]:
        """Those that a probe can go now: towards a place, between members that are up.

        Where probes are of the network and not of processes, all of them.
        """
        if self.wiring.links.PROBES_NETWORKS:
            return frozenset(links)
        up = {broker_name(b) for b in self.target.state.live_brokers() if self._is_up(b)}
        servers = set(self.wiring.zookeepers)
        away = set(self.wiring.brokers) - up
        return frozenset((a, b) for a, b in links if a not in away | servers and b in up | servers)

    def judge(self, closed: frozenset[Link], others: frozenset[Link]) -> str | None:
        """What shows that nothing passes on `closed` and that bytes pass on the `others`."""
        closed, others = self.probed(closed), self.probed(others)
        results = self._results("active", closed | others)
        waited_ms = self._waited_ms("active")
        took = [ms for link in others if (ms := results.get(link)) is not None]
        if any(results.get(link) is not None for link in closed):
            raise InjectionError("bytes pass where none should")
        if others and not took:
            return None
        if waited_ms < max(SILENT_MS, 3 * max(took, default=0)):
            return None
        if len(took) < len(others) and waited_ms < STRAGGLER_MS:
            return None
        self.wiring.links.end_probe(self._probe("active"))
        open_ways = f"{len(took)} of {len(others)} others open"
        return f"{counted(len(closed), 'way')} closed to probes, {open_ways}"

    def name(self) -> str:
        """The member that is hurt."""
        return broker_name(self.broker_id)

    def towards(self) -> frozenset[Link]:
        """The links from the sender to the receiver, or to every other broker."""
        receiver, sender = self.resolved.receiver_id, self.name()
        receivers = self.wiring.brokers if receiver is None else [broker_name(receiver)]
        return frozenset((sender, one) for one in receivers if one != sender)

    def held(self) -> str:
        """What did not pass."""
        packets = sum(status.packets_dropped for status in self.last)
        if packets:
            size = sum(status.bytes_dropped for status in self.last)
            return f"the kernel dropped {counted(packets, 'packet')} of {counted(size, 'byte')}"
        size = sum(status.bytes_stalled for status in self.last)
        held = sum(status.connections_held for status in self.last)
        return f"{counted(size, 'byte')} and {counted(held, 'connection')} held"

    def rule(self, links: Iterable[Link], **what: Any) -> LinkRule:  # noqa: ANN401
        """A rule of this fault, named by it."""
        return LinkRule(rule_id=self.fault_id, links=frozenset(links), **what)

    def _results(self, about: str, links: frozenset[Link]) -> dict[Link, float | None]:
        """How long each probe took so far; they are sent at the first call with these links."""
        probe = self._probe(about)
        found = {r.link: r.passed_ms for r in self.wiring.links.probed(probe)}
        if set(found) != links:
            self.wiring.links.start_probe(probe, links)
            return dict.fromkeys(links)
        return found

    def _waited_ms(self, about: str) -> float:
        results = self.wiring.links.probed(self._probe(about))
        return min((result.waited_ms for result in results), default=float(STRAGGLER_MS))

    def _probe(self, about: str) -> str:
        return f"{self.fault_id}: {about}"

    def _names(self) -> list[str]:
        return [rule.rule_id for rule in self.rules]

    def _is_up(self, broker_id: int) -> bool:
        """True when its process runs and does not stand still."""
        try:
            process = self.target.process(broker_id)
        except InjectionError:
            return False
        return process_state(process.pid) != "T"


class LinkCutInjector(LinkInjector):
    """`net.isolate`, `partition`, `oneway`, `bridge`, `majority_ring`, `zk.cut`: bytes wait."""

    def make_rules(self) -> list[LinkRule]:
        """One for all links that are closed."""
        return [self.rule(self._closed(), stalls=True)]

    def proof(self) -> str | None:
        """Something is held, and probes agree."""
        judged = self.judge(self.links, self._others())
        if judged is None or not any(status.has_blocked for status in self.last):
            return None
        return f"{self.held()}; {judged}"

    def _closed(self) -> frozenset[Link]:
        brokers, fault = self.wiring.brokers, self.fault
        match fault:
            case IsolateBroker():
                return cut_off(self.wiring, self.broker_id)
            case PartitionBrokers():
                side = {broker_name(broker_id) for broker_id in fault.side} & set(brokers)
                return between(side, set(brokers) - side)
            case CutOneWay():
                return self.towards()
            case BridgeBrokers():
                return around_bridge(self.name(), brokers)
            case RingOfMajorities():
                return outside_majorities(brokers)
            case CutZooKeeper():
                return between([self.name()], self.wiring.zookeepers)
            case _:
                raise AssertionError(f"{fault.kind} closes no way")

    def _others(self) -> frozenset[Link]:
        """The links of the same sort that stay open."""
        if isinstance(self.fault, CutZooKeeper):
            return between(self.wiring.brokers, self.wiring.zookeepers) - self.links
        clients = [link for b in self.wiring.broker_ids for link in self.wiring.with_clients(b)]
        return (between(self.wiring.brokers, self.wiring.brokers) | set(clients)) - self.links


class TimedCutInjector(LinkInjector):
    """`net.swizzle`, `net.flap`: brokers are cut off for some times, which the rules say."""

    def make_rules(self) -> list[LinkRule]:
        """One per broker."""
        fault = self.fault
        if isinstance(fault, FlapBroker):
            closed = cut_off(self.wiring, self.broker_id)
            return [self.rule(closed, stalls=True, windows=fault.windows())]
        assert isinstance(fault, SwizzleBrokers)
        return [
            LinkRule(
                rule_id=f"{self.fault_id}/{broker_id}",
                links=cut_off(self.wiring, broker_id),
                stalls=True,
                windows=(window,),
            )
            for broker_id, window in fault.windows().items()
        ]

    def proof(self) -> str | None:
        """All windows that show what it is have begun, and something was held."""
        begun = min(status.windows_begun for status in self.last)
        enough = min(2, *(len(rule.windows) for rule in self.rules))
        if begun < enough or not all(status.has_blocked for status in self.last):
            return None
        times = sum(status.windows_begun for status in self.last)
        return f"cut off {times} times so far; {self.held()}"


class SlowLinkInjector(LinkInjector):
    """`net.latency`, `net.bandwidth`, `zk.delay`: bytes take their time."""

    def make_rules(self) -> list[LinkRule]:
        """One for all links."""
        fault = self.fault
        match fault:
            case DelayLink():
                links = self.towards()
                return [self.rule(links, delay_ms=fault.delay_ms, jitter_ms=fault.jitter_ms)]
            case NarrowLink():
                return [self.rule(self.towards(), kb_per_s=fault.kb_per_s)]
            case DelayZooKeeper():
                links = self.wiring.from_zookeeper(self.broker_id)
                return [self.rule(links, delay_ms=fault.delay_ms)]
            case _:
                raise AssertionError(f"{fault.kind} slows nothing down")

    def proof(self) -> str | None:
        """Bytes waited; of a delayed link, the fastest probe took that long or more.

        That the way back is as fast as always is not asked: no rule is on it.
        """
        late = sum(status.bytes_delayed for status in self.last)
        if not late:
            return None
        if not isinstance(self.fault, DelayLink):
            return f"{late} bytes had to wait{self._kept()}"
        results = self._results("active", self.probed(self.links))
        if not results or any(took is None for took in results.values()):
            return None
        fastest = min(took for took in results.values() if took is not None)
        self.wiring.links.end_probe(self._probe("active"))
        if fastest < self.fault.delay_ms:
            raise InjectionError(f"a probe took {fastest:g} ms only")
        return f"{late} bytes came late; probes took {fastest:g} ms or more"

    def _kept(self) -> str:
        """What the kernel says of it, if it was the kernel."""
        kept = sum(status.packets_kept for status in self.last)
        return f"; the kernel kept packets back {counted(kept, 'time')}" if kept else ""


class ConnectionResetInjector(LinkInjector):
    """`rpc.stream_reset`, `zk.conn_drop`: connections end, and may be made again at once."""

    def make_rules(self) -> list[LinkRule]:
        """One, that applies for a moment each time."""
        fault = self.fault
        assert isinstance(fault, ResetStreams | DropConnection)
        moments = windows_of_moments(fault.for_ms, fault.every_ms)
        if isinstance(fault, DropConnection):
            links = self.wiring.to_zookeeper(self.broker_id)
        else:
            links = self.towards()
        return [self.rule(links, drops=True, windows=moments)]

    def proof(self) -> str | None:
        """A connection was reset at least once; whether at every moment is not asked."""
        (status,) = self.last
        if not status.connections_reset:
            return None
        return f"{counted(status.connections_reset, 'connection')} reset"

    def healed(self) -> str | None:
        """As always; and a session that lost only its connections is the same one still."""
        now = self.registration()
        dropped = isinstance(self.fault, DropConnection)
        if dropped and self.before and now and now.session_id != self.before.session_id:
            raise InjectionError(f"session {self.before.session_id:#x} has ended")
        return super().healed()


class LostReplyInjector(LinkInjector):
    """`zk.lose_reply`: ZooKeeper answers a write, and the proxy ends the connection instead."""

    def make_rules(self) -> list[LinkRule]:
        """One for what the broker asks."""
        fault = self.fault
        assert isinstance(fault, LoseZooKeeperReplies)
        links = self.wiring.to_zookeeper(self.broker_id)
        return [self.rule(links, replies_to_lose=fault.count)]

    def proof(self) -> str | None:
        """ZooKeeper's own words that it did the write, which the broker never got."""
        lost = [reply for status in self.last for reply in status.lost_replies]
        if not lost:
            return None
        return "; ".join(f"{one.path} was written at zxid {one.zxid}, unanswered" for one in lost)


class FailedRequestInjector(LinkInjector):
    """`zk.fail_request`: ZooKeeper is asked for nothing, and what it answers is an error."""

    def make_rules(self) -> list[LinkRule]:
        """One for what the broker asks."""
        fault = self.fault
        assert isinstance(fault, FailZooKeeperRequests)
        rule = self.rule(
            self.wiring.to_zookeeper(self.broker_id),
            requests_to_fail=fault.count,
            fails_only_writes=fault.requests == "write",
            error_code=ERROR_CODES[fault.code],
        )
        return [rule]

    def proof(self) -> str | None:
        """Which requests got the error."""
        (status,), code = self.last, self.fault.code
        failed = status.failed_requests
        if not failed:
            return None
        return f"{counted(len(failed), 'request')} answered with {code}: {', '.join(failed)}"


class ZooKeeperLinkInjector(LinkInjector):
    """`zk.link`: one or both directions wait, or connections are reset or refused."""

    def make_rules(self) -> list[LinkRule]:
        """One for the direction and the mode."""
        fault, broker_id = self.fault, self.broker_id
        assert isinstance(fault, HurtZooKeeperLink)
        to, back = self.wiring.to_zookeeper(broker_id), self.wiring.from_zookeeper(broker_id)
        if fault.mode != "stall":
            return [self.rule(to, refuses=True, drops=fault.mode == "reset")]
        return [
            self.rule({"both": to | back, "c2s": to, "s2c": back}[fault.direction], stalls=True)
        ]

    def proof(self) -> str | None:
        """What the mode says has happened, and what it leaves alone has not."""
        (status,), fault = self.last, self.fault
        if fault.mode == "stall":
            return self._proof_of_stall() if status.has_blocked else None
        if fault.mode == "reset":
            done = status.connections_reset and status.connections_refused
            told = f"{counted(status.connections_reset, 'connection')} reset, "
            return f"{told}then {status.connections_refused} refused" if done else None
        others = self.wiring.to_zookeeper(self.broker_id)
        judged = self.judge(others, between(self.wiring.brokers, self.wiring.zookeepers) - others)
        return judged and f"new connections are refused, the old one stands; {judged}"

    def _proof_of_stall(self) -> str | None:
        closed = self.links
        if not self.wiring.links.PROBES_NETWORKS:
            closed &= self.wiring.to_zookeeper(self.broker_id)
        if not closed:
            return self.held()
        others = between(self.wiring.brokers, self.wiring.zookeepers) - self.links
        judged = self.judge(closed, others)
        return judged and f"{self.held()}; {judged}"


def counted(number: int, noun: str) -> str:
    """The number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def cut_off(wiring: Wiring, broker_id: int) -> frozenset[Link]:
    """All links between a broker and other brokers or clients."""
    name = broker_name(broker_id)
    return between([name], wiring.brokers) | wiring.with_clients(broker_id)
