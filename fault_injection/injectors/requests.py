"""Requests that are lost, held, doubled: rules which the sending broker applies and counts."""

from contextlib import suppress

from fencepost.fault_injection.engine import rpc_rules
from fencepost.fault_injection.faults.request_faults import RpcFault
from fencepost.fault_injection.injectors.injection import (
    ProcessInjector,
)


class RequestRuleInjector(ProcessInjector[RpcFault]):
    """`rpc.*`: a rule in the sender, which counts what it applied to."""

    _last: rpc_rules.RequestRuleStatus | None = None

    def inject(self) -> None:
        """The sender applies the rule from now on."""
        self.process = self.target.process(self.broker_id)
        receiver_id = self.resolved.receiver_id
        rpc_rules.add_rule(self.address(), self.fault_id, self.fault, receiver_id)

    def evidence(self) -> str | None:
        """The rule applied to at least one request."""
        if self.has_process:
            self._last = rpc_rules.rule_status(self.address(), self.fault_id)
        if self._last is None or not self._last.matched:
            return None
        return f"{self._last.matched} requests matched"

    def heal(self) -> None:
        """The rule applies no more; what it held is delivered."""
        if self.has_process:
            with suppress(rpc_rules.RuleRefusedError):  # it was never added
                self._last = rpc_rules.remove_rule(self.address(), self.fault_id)

    def healed(self) -> str | None:
        """The rule is gone, or the process that had it."""
        if self._last is None:
            return "no rule is left"
        return f"{self._last.matched} requests matched, {self._last.released} delivered late"
