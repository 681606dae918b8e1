"""Clients of a stepped run: each operation and each request is made when its move comes."""

from concurrent.futures import Future, TimeoutError as FutureTimeoutError
from pathlib import Path
from typing import Any

from fencepost.conformance.adapters.grpc_transport import routing_view
from fencepost.conformance.clients.recorder import TraceWriter
from fencepost.conformance.clients.transport import RoutingView
from fencepost.fault_injection.processes.pacing import PacedBroker, PacingError
from fencepost.fault_injection.workload.config_operations import (
    CONFIG_ACTIONS,
    TOKENS,
    answered_config,
    answered_token,
    token_path,
)
from fencepost.fault_injection.workload.operations import Fields, answer_of, answered_fields
from fencepost.spec.pacing import Move, Verb
from fencepost.spec.trace import Kind, LamportClock, TraceEvent
from fencepost.spec.vocabulary import Outcome
from fencepost.spec.wire.conventions import LAMPORT_KEY, NODE_KEY
from fencepost.spec.wire.tls import ADMIN, read_identity

ANSWER_S = 15.0
METADATA_S = 1.0
"""A broker that was told metadata has its answer at once; another one asks ZooKeeper, and waits."""

Answered = tuple[Any, dict[str, Any]]
"""A response, and the metadata that came with it."""


class SteppedClients:
    """As many clients as the moves name; each writes a trace of its own."""

    def __init__(
        self, folder: Path, *, run_id: str, clock: LamportClock, tls: Path | None = None
    ) -> None:
        """With `tls`, a folder with an identity per client, their connections prove their names."""
        self._folder = folder
        self._run_id = run_id
        self._clock = clock
        self._tls = tls
        self._recorders: dict[str, TraceWriter] = {}
        self._begun: dict[tuple[str, int], tuple[TraceEvent, dict[str, Any]]] = {}
        """Operation -> its invocation, and the fields that its completion repeats."""
        self._asked: dict[tuple[str, int], Future[Answered]] = {}
        """Client and number of its request -> the answer."""

    def invoke(self, move: Move) -> None:
        """Trace the operation, before its request leaves."""
        client, body = self._recorder(move.client), self.body_of(move)
        invoked = client.write(Kind.INVOKE, move.method, op_id=move.number, **body)
        self._begun[move.client, move.number] = invoked, body

    def body_of(self, move: Move) -> dict[str, Any]:
        """That of the move; it names the token that was made here."""
        if not move.token:
            return move.body
        made, _ = self._answer(move.client, move.token)
        here = {"token_id": made.token_id, "path": token_path(made.token_id)}
        return move.body | {name: here[name] for name in here.keys() & move.body.keys()}

    def request(self, move: Move, broker: PacedBroker) -> None:
        """Send the request to the broker."""
        metadata = {LAMPORT_KEY: str(self._clock.tick()), NODE_KEY: move.client}
        identity = read_identity(self._tls / move.client) if self._tls else None
        answer = broker.request(move.method, move.body, metadata, identity)
        self._asked[move.client, move.number] = answer

    def routing_view(self, broker: PacedBroker) -> RoutingView | None:
        """What the broker answers after its last move to a client that asks for metadata.

        None: nothing, since no controller has told it.
        """
        identity = read_identity(self._tls / ADMIN) if self._tls else None
        asked = broker.request("Metadata", {}, {}, identity)
        broker.take(Move(verb=Verb.REQUEST))
        try:
            return routing_view(asked.result(METADATA_S)[0])
        except FutureTimeoutError:
            return None

    def heard(self, move: Move) -> None:
        """Wait for the answer to the request; raises `PacingError`."""
        self._answer(move.client, move.number)

    def completed(self, move: Move) -> None:
        """Trace the end of the operation, by the answer to request `to` or without one."""
        client = move.client
        invoked, body = self._begun[client, move.number]
        told: dict[str, Any] = {}
        if move.to:
            response, trailing = self._answer(client, move.to)
            self._clock.observe(int(trailing.get(LAMPORT_KEY, 0)))
            told = _answered_fields(invoked.action, body, response)
        if told.get("outcome") is not Outcome.OK and move.body:
            told |= {**move.body, "outcome": Outcome(move.body["outcome"])}
        fields = {**body, **told}
        self._recorder(client).write(
            Kind.COMPLETE, invoked.action, op_id=move.number, inv_ns=invoked.mono_ns, **fields
        )

    def close(self) -> None:
        """Close the traces."""
        for recorder in self._recorders.values():
            recorder.close()

    def _answer(self, client: str, number: int) -> Answered:
        try:
            return self._asked[client, number].result(ANSWER_S)
        except FutureTimeoutError:
            raise PacingError(f"{client} has no answer to its request {number}") from None

    def _recorder(self, client: str) -> TraceWriter:
        """The trace of a client, begun when it is first asked for."""
        if client not in self._recorders:
            self._recorders[client] = TraceWriter(
                self._folder, run_id=self._run_id, node=client, clock=self._clock
            )
        return self._recorders[client]


def _answered_fields(action: str, asked: Fields, response: Any) -> Fields:  # noqa: ANN401 - of the wire
    if action in CONFIG_ACTIONS and asked["path"].startswith(TOKENS):
        return answered_token(action, asked, response)
    if action in CONFIG_ACTIONS:
        return answered_config(action, response)
    return answered_fields(action, answer_of(action, response))
