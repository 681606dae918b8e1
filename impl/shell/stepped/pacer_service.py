"""gRPC service Pacer: takes moves, also before the broker has a ZooKeeper session."""

import grpc
import msgspec
from google.protobuf.json_format import MessageToDict
from grpc import aio

from fencepost.impl.shell.fault_control import FaultControl
from fencepost.impl.shell.rpc.grpc_server import new_server
from fencepost.impl.shell.rpc.request_gate import RequestGate
from fencepost.impl.shell.rpc.service import (
    FAULT_CONTROL_SERVICE,
    fault_control_handlers,
    require_administrator,
    server_credentials,
)
from fencepost.impl.shell.stepped.move_executor import CannotMoveError, MoveExecutor
from fencepost.spec.pacing import Move, Verb
from fencepost.spec.wire.pacer_pb2 import PacedMove, Taken

SERVICE = "fencepost.Pacer"


class PacerServer:
    """Takes moves, one at a time."""

    def __init__(
        self,
        address: str,
        executor: MoveExecutor,
        faults: FaultControl | None,
        gate: RequestGate | None,
    ) -> None:
        """Serve `executor`, and `faults` if given, at `address`; with a `gate`, over TLS.

        Then the administrator alone is served.
        """
        self._executor = executor
        self._gate = gate
        self._listens_at = ""
        self._server = new_server()
        take = grpc.unary_unary_rpc_method_handler(
            self._take, PacedMove.FromString, Taken.SerializeToString
        )
        self._server.add_registered_method_handlers(SERVICE, {"Take": take})
        if faults:
            handlers = fault_control_handlers(faults, gate)
            self._server.add_registered_method_handlers(FAULT_CONTROL_SERVICE, handlers)
        if gate is None:
            self._server.add_insecure_port(address)
        else:
            self._server.add_secure_port(address, server_credentials(gate))

    async def start(self, listens_at: str) -> None:
        """Take moves; answers carry `listens_at`, the address of service Replication."""
        self._listens_at = listens_at
        await self._server.start()

    async def stop(self) -> None:
        """Take no more moves."""
        await self._server.stop(None)

    async def _take(self, said: PacedMove, context: aio.ServicerContext) -> Taken:
        await require_administrator(context, self._gate)
        try:
            move = _move(said)
            actions = await self._executor.take(move, said.deadline_ms / 1000, said.address)
        except CannotMoveError as error:
            return Taken(error=str(error))
        return Taken(actions=actions, address=self._listens_at)


def _move(said: PacedMove) -> Move:
    if said.verb not in {*Verb}:
        raise CannotMoveError(f"{said.verb!r} is no move")
    # Not strict: in the dictionary, as in JSON, a number of 64 bits is text.
    return msgspec.convert(
        MessageToDict(said, preserving_proto_field_name=True), Move, strict=False
    )
