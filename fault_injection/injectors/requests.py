"""Requests that are lost, held, doubled: rules which the sending broker applies and counts."""

from contextlib import suppress
from dataclasses import dataclass, field

from fencepost.fault_injection.engine import rpc_rules
from fencepost.fault_injection.faults.request_faults import RpcFault
from fencepost.fault_injection.injectors.injection import ResolvedFault, TargetProcess, address_of


@dataclass(slots=True)
class RequestRuleInjector:
    """`rpc.*`: a rule in the sender, which counts what it applied to."""

    resolved: ResolvedFault[RpcFault]
    _process: TargetProcess | None = field(init=False, default=None)
    _last: rpc_rules.RequestRuleStatus | None = field(init=False, default=None)

    def inject(self) -> None:
        """The sender applies the rule from now on."""
        resolved = self.resolved
        self._process = resolved.target.process(resolved.broker_id)
        address, receiver_id = address_of(resolved), resolved.receiver_id
        rpc_rules.add_rule(address, resolved.fault_id, resolved.fault, receiver_id)

    def evidence(self) -> str | None:
        """The rule applied to at least one request."""
        if self._has_process():
            self._last = rpc_rules.rule_status(address_of(self.resolved), self.resolved.fault_id)
        if self._last is None or not self._last.matched:
            return None
        return f"{self._last.matched} requests matched"

    def heal(self) -> None:
        """The rule applies no more; what it held is delivered."""
        if self._has_process():
            with suppress(rpc_rules.RuleRefusedError):  # it was never added
                self._last = rpc_rules.remove_rule(
                    address_of(self.resolved), self.resolved.fault_id
                )

    def healed(self) -> str | None:
        """The rule is gone, or the process that had it."""
        if self._last is None:
            return "no rule is left"
        return f"{self._last.matched} requests matched, {self._last.released} delivered late"

    def _has_process(self) -> bool:
        """False when the rule has ended with the process that had it."""
        return self._process is not None and self._process.is_running
