"""Requests that are lost, held, doubled: rules which the sender or its links apply and count.

A broker that serves `FaultControl` applies them itself. Brokers of Kafka do not know of them: the
proxy, which reads their protocol, does it to what they send.
"""

from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass

from fencepost.fault_injection.engine import rpc_rules
from fencepost.fault_injection.engine.rpc_rules import RequestRuleStatus
from fencepost.fault_injection.faults.request_faults import (
    DropResponse,
    DuplicateRequest,
    RpcFault,
)
from fencepost.fault_injection.injectors.injection import ProcessInjector
from fencepost.fault_injection.injectors.links import counted
from fencepost.fault_injection.network.rules import (
    Link,
    LinkRule,
    LinkRuleStatus,
    RequestHandling,
)
from fencepost.fault_injection.network.wiring import Wiring, broker_name


class RequestRules(ABC):
    """Where the rule of a fault is applied."""

    @abstractmethod
    def add(self) -> None:
        """Apply the rule from now on."""

    @abstractmethod
    def status(self) -> RequestRuleStatus | None:
        """What it has done so far; None when it has ended with its process."""

    @abstractmethod
    def remove(self) -> RequestRuleStatus | None:
        """Apply it no more, and deliver what it held."""


class RequestRuleInjector(ProcessInjector[RpcFault]):
    """`rpc.*`: a rule about what a broker sends, and how often it applied."""

    _rules: RequestRules | None = None
    _last: RequestRuleStatus | None = None

    def inject(self) -> None:
        """The rule applies from now on."""
        self.process = self.target.process(self.broker_id)
        links = self.target.request_links
        self._rules = _RulesOfBroker(self) if links is None else _RulesOfLinks(self, links)
        self._rules.add()

    def evidence(self) -> str | None:
        """The rule applied to at least one request."""
        assert self._rules is not None
        self._last = self._rules.status() or self._last
        if self._last is None or not self._last.matched:
            return None
        return f"{counted(self._last.matched, 'request')} matched"

    def heal(self) -> None:
        """The rule applies no more; what it held is delivered."""
        if self._rules is not None:
            self._last = self._rules.remove() or self._last

    def healed(self) -> str | None:
        """The rule is gone, or the process that had it."""
        if self._last is None:
            return "no rule is left"
        matched = counted(self._last.matched, "request")
        return f"{matched} matched, {self._last.released} delivered late"


@dataclass(frozen=True, slots=True)
class _RulesOfBroker(RequestRules):
    """The sender applies the rule, as long as its process lasts."""

    injector: RequestRuleInjector

    def add(self) -> None:
        one = self.injector
        rpc_rules.add_rule(one.address(), one.fault_id, one.fault, one.resolved.receiver_id)

    def status(self) -> RequestRuleStatus | None:
        if not self.injector.has_process:
            return None
        return rpc_rules.rule_status(self.injector.address(), self.injector.fault_id)

    def remove(self) -> RequestRuleStatus | None:
        if self.injector.has_process:
            with suppress(rpc_rules.RuleRefusedError):  # it was never added
                return rpc_rules.remove_rule(self.injector.address(), self.injector.fault_id)
        return None


@dataclass(frozen=True, slots=True)
class _RulesOfLinks(RequestRules):
    """The links apply the rule, whatever becomes of the sender's process."""

    injector: RequestRuleInjector
    wiring: Wiring

    def add(self) -> None:
        fault = self.injector.fault
        handling = RequestHandling(
            verb=fault.verb,
            method=fault.method,
            topic=fault.topic,
            count=fault.count,
            delay_ms=getattr(fault, "delay_ms", 0),
            window=getattr(fault, "window", 0),
        )
        rule = LinkRule(rule_id=self.injector.fault_id, links=self._links(), requests=handling)
        self.wiring.links.add([rule])

    def status(self) -> RequestRuleStatus | None:
        return self._told(self.wiring.links.status([self.injector.fault_id]))

    def remove(self) -> RequestRuleStatus | None:
        return self._told(self.wiring.links.remove([self.injector.fault_id]))

    def _links(self) -> frozenset[Link]:
        """From the sender to the receiver, or to every broker: a controller commands itself too."""
        receiver, sender = self.injector.resolved.receiver_id, broker_name(self.injector.broker_id)
        receivers = self.wiring.brokers if receiver is None else [broker_name(receiver)]
        return frozenset((sender, one) for one in receivers)

    def _told(self, statuses: list[LinkRuleStatus | None]) -> RequestRuleStatus | None:
        """Of a lost or a second answer only that counts which the receiver has given."""
        (status,) = statuses
        if status is None:
            return None
        is_answered = isinstance(self.injector.fault, DropResponse | DuplicateRequest)
        return RequestRuleStatus(
            matched=status.answers_withheld if is_answered else status.requests_matched,
            held=status.requests_kept,
            released=status.requests_released,
        )
