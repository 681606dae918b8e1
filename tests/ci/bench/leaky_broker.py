"""A broker that keeps each request that its gate refuses unread: `leaky_broker.py node ...`."""

import sys

from fencepost.impl.__main__ import main
from fencepost.impl.core.rules.security.access import ProvenCaller
from fencepost.impl.core.types.messages import Request
from fencepost.impl.shell.rpc import broker_gate
from fencepost.impl.shell.rpc.request_gate import RequestGate
from fencepost.spec.wire.tokens import SignedCall

KEPT: list[SignedCall] = []


class LeakyGate(RequestGate):
    """Decides as the other one does."""

    def admit(
        self, kind: type[Request], caller: ProvenCaller, call: SignedCall, shown: object
    ) -> ProvenCaller | bytes:
        """As of a `RequestGate`."""
        admitted = super().admit(kind, caller, call, shown)
        if isinstance(admitted, bytes):
            KEPT.append(call)
        return admitted


if __name__ == "__main__":
    vars(broker_gate)[RequestGate.__name__] = LeakyGate
    sys.exit(main(sys.argv[1:]))
