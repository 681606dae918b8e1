"""Rules for single requests between brokers of the simulated world."""

from fencepost.fault_injection.faults.request_faults import DelayRequest, ReorderRequests, RpcFault
from fencepost.fault_injection.faults.targets import ANY_BROKER
from fencepost.impl.sim.injectors.injector import InstantInjector, nothing_to_act_on
from fencepost.impl.sim.world.network import RequestRule
from fencepost.impl.trace_lines import Line


class SimulatedRequestRule(InstantInjector[RpcFault]):
    """`rpc.*` but for `rpc.stream_reset`."""

    _rule: RequestRule

    def inject(self) -> None:
        """Apply the rule to requests from now on."""
        fault = self.fault
        receiver = fault.receiver.resolve(self.cluster.view())
        if receiver is None and fault.receiver != ANY_BROKER:
            raise nothing_to_act_on()
        self._rule = RequestRule(
            method=fault.method,
            sender=self.process.broker_id,
            receiver=-1 if receiver is None else receiver,
            topic=fault.topic,
            verb=fault.verb,
            count=fault.count,
            delay_ms=fault.delay_ms if isinstance(fault, DelayRequest) else 0,
            window=fault.window if isinstance(fault, ReorderRequests) else 0,
        )
        self.cluster.network.rules.append(self._rule)

    def undo(self) -> Line:
        """Remove the rule and deliver what it held; how many requests it matched."""
        rule = self._rule
        self.cluster.network.rules.remove(rule)
        released = len(rule.held)
        for deliver in reversed(rule.held) if rule.window else rule.held:
            deliver()
        return {"matched": rule.matched, "released": released}
