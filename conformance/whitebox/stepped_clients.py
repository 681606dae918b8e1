"""Clients of a run that processes are led along: each operation and request when its move comes."""

from concurrent.futures import Future, TimeoutError as FutureTimeoutError
from pathlib import Path
from typing import Any

from fencepost.conformance.clients.client import LAMPORT_KEY, NODE_KEY, answer_of
from fencepost.conformance.clients.recorder import HarnessClock, TraceRecorder
from fencepost.fault_injection.processes.pacing import PacedBroker, PacingError
from fencepost.spec.pacing import Move
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Outcome

ANSWER_S = 15.0

Answered = tuple[Any, dict[str, Any]]
"""A response, and the metadata that came with it."""


def in_time(answer: Future[Answered], client: str, number: int) -> Answered:
    """The answer to a request of the client; raises `PacingError` when it does not come."""
    try:
        return answer.result(ANSWER_S)
    except FutureTimeoutError:
        raise PacingError(f"{client} has no answer to its request {number}") from None


class SteppedClients:
    """As many as the moves name; each writes a trace of its own."""

    def __init__(self, folder: Path, *, run_id: str, clock: HarnessClock) -> None:
        self._folder = folder
        self._run_id = run_id
        self._clock = clock
        self._recorders: dict[str, TraceRecorder] = {}
        self._begun: dict[tuple[str, int], tuple[TraceEvent, dict[str, Any]]] = {}
        """Operation -> its invocation, and the fields that its completion repeats."""
        self._asked: dict[int, Future[Answered]] = {}

    def invoke(self, move: Move) -> None:
        """The operation is in the trace, before its request leaves."""
        client = self.recorder(move.client)
        invoked = client.write(Kind.INVOKE, move.method, op_id=move.number, **move.body)
        self._begun[move.client, move.number] = invoked, move.body

    def request(self, move: Move, broker: PacedBroker) -> None:
        """The request is on its way to the broker."""
        metadata = {LAMPORT_KEY: str(self._clock.tick()), NODE_KEY: move.client}
        self._asked[move.number] = broker.request(move.method, move.body, metadata)

    def heard(self, move: Move) -> None:
        """The answer to the request is there; raises `PacingError`."""
        self._answer(move.client, move.number)

    def completed(self, move: Move) -> None:
        """The operation has ended, by the answer to request `to` or without one."""
        invoked, body = self._begun[move.client, move.number]
        told: dict[str, Any] = {}
        if move.to:
            response, trailing = self._answer(move.client, move.to)
            self._clock.observe(int(trailing.get(LAMPORT_KEY, 0)))
            told = answer_of(move.method, response)
        if told.get("outcome") is not Outcome.OK and move.body:
            told |= {**move.body, "outcome": Outcome(move.body["outcome"])}
        self.recorder(move.client).write(
            Kind.COMPLETE,
            move.method,
            op_id=move.number,
            inv_ns=invoked.mono_ns,
            **{**body, **told},
        )

    def close(self) -> None:
        """No line follows."""
        for recorder in self._recorders.values():
            recorder.close()

    def _answer(self, client: str, number: int) -> Answered:
        return in_time(self._asked[number], client, number)

    def recorder(self, client: str) -> TraceRecorder:
        """The trace of a client, begun when it is first asked for."""
        if client not in self._recorders:
            self._recorders[client] = TraceRecorder(
                self._folder, run_id=self._run_id, node=client, clock=self._clock
            )
        return self._recorders[client]
