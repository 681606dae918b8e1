"""Operations of simulated clients: their requests, and their lines in the trace."""

from collections.abc import Mapping
from dataclasses import dataclass

from fencepost.fault_injection.workload.operations import (
    Answer,
    Fetch,
    Fields,
    ListOffsets,
    Operation,
    Produce,
    answer_of,
    answered_fields,
    asked_fields,
    no_answer,
)
from fencepost.impl.core.types.messages import (
    FetchRequest,
    ListOffsetsRequest,
    ProduceRequest,
    Request,
    Response,
)
from fencepost.impl.sim.world.virtual_world import VirtualWorld
from fencepost.spec.trace import Kind
from fencepost.spec.vocabulary import ErrorCode, Offset


class TracedClient:
    """The trace of one client; its operations are moves too where these are recorded."""

    def __init__(self, world: VirtualWorld, name: str) -> None:
        self.name = name
        self.trace = world.recorder.node(name)
        self.move_recorder = world.move_recorder
        self._operations = 0
        """How many were begun."""

    def next_operation(self) -> int:
        """The number of one operation more."""
        self._operations += 1
        return self._operations

    def begin(self, operation: Operation) -> "TracedOperation":
        """Record the invocation, before its request leaves."""
        return TracedOperation(
            self, operation, *self.invoke(operation.action, asked_fields(operation))
        )

    def invoke(self, action: str, asked: Mapping[str, object]) -> tuple[Fields, int]:
        """Record an invocation; returns what both lines tell, and the time (ns) of the first."""
        line = {"op_id": self.next_operation(), "action": action, **asked}
        inv_ns = self.trace.now_ns()
        self.trace.write({"kind": Kind.INVOKE, **line}, inv_ns)
        if self.move_recorder is not None:
            self.move_recorder.invoked(self.name, line)
        return line, inv_ns

    def complete(self, line: Fields, inv_ns: int, told: Fields) -> None:
        """Record the completion of what `invoke` has begun."""
        done = line | {"kind": Kind.COMPLETE, "inv_ns": inv_ns} | told
        self.trace.write(done)
        if self.move_recorder is not None:
            self.move_recorder.completed(self.name, done)


@dataclass(frozen=True, slots=True)
class TracedOperation:
    """An operation with its invocation recorded."""

    client: TracedClient
    operation: Operation
    line: Fields
    inv_ns: int

    def answer(self, response: Response | None) -> Answer:
        """What the response says; None: there was none in time."""
        if response is None:
            return no_answer(self.operation.action, ErrorCode.REQUEST_TIMED_OUT)
        return answer_of(self.operation.action, response)

    def end(self, answer: Answer) -> None:
        """Record the completion."""
        told = answered_fields(self.operation.action, answer)
        self.client.complete(self.line, self.inv_ns, told)


def request_of(operation: Operation) -> Request:
    """What asks a broker for the operation."""
    topic, partition = operation.partition
    match operation:
        case Produce():
            return ProduceRequest(
                topic=topic,
                partition=partition,
                acks=operation.acks,
                values=operation.values,
                timeout_ms=operation.timeout_ms,
                producer_id=operation.producer_id,
                producer_epoch=operation.producer_epoch,
                base_sequence=operation.base_sequence,
            )
        case Fetch():
            return FetchRequest(
                topic=topic,
                partition=partition,
                fetch_offset=Offset(operation.offset),
                max_records=operation.max_records,
                max_wait_ms=operation.max_wait_ms,
                leader_epoch=operation.leader_epoch,
            )
        case ListOffsets():
            return ListOffsetsRequest(topic=topic, partition=partition)
