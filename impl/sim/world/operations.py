"""Operations of simulated clients: their lines in the trace, and what an answer makes of them."""

from dataclasses import dataclass

from fencepost.impl.core.types.messages import (
    FetchRequest,
    FetchResponse,
    ProduceRequest,
    ProduceResponse,
    Response,
)
from fencepost.impl.sim.world.virtual_world import VirtualWorld
from fencepost.impl.trace_lines import Line
from fencepost.spec.trace import Kind
from fencepost.spec.vocabulary import NO_PRODUCER, ErrorCode, Outcome


class TracedClient:
    """The trace of one client; its operations are moves too where these are recorded."""

    def __init__(self, world: VirtualWorld, name: str) -> None:
        self.name = name
        self.trace = world.recorder.node(name)
        self.move_recorder = world.move_recorder
        self.operations = 0
        """How many were begun."""

    def begin(self, request: ProduceRequest | FetchRequest) -> "Operation":
        """Record the invocation, before its request leaves."""
        self.operations += 1
        line = {"op_id": self.operations, **_asked(request)}
        inv_ns = self.trace.now_ns()
        self.trace.write({"kind": Kind.INVOKE, **line}, inv_ns)
        if self.move_recorder is not None:
            self.move_recorder.invoked(self.name, line)
        return Operation(self, line, inv_ns)


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation with its invocation recorded."""

    client: TracedClient
    line: Line
    inv_ns: int

    def end(self, outcome: Outcome, fields: Line) -> None:
        """Record the completion."""
        told = {name: value for name, value in fields.items() if value not in (None, -1)}
        ending: Line = {"kind": Kind.COMPLETE, "inv_ns": self.inv_ns, "outcome": outcome}
        line = {**self.line, **told, **ending}
        self.client.trace.write(line)
        if self.client.move_recorder is not None:
            self.client.move_recorder.completed(self.client.name, line)


def _asked(request: ProduceRequest | FetchRequest) -> Line:
    about: Line = {"topic": request.topic, "partition": request.partition}
    if isinstance(request, FetchRequest):
        return {"action": "Fetch", **about, "offset": request.fetch_offset}
    if request.producer_id != NO_PRODUCER:
        about["producer_id"] = request.producer_id
    return {"action": "Produce", **about, "acks": request.acks, "values": list(request.values)}


def produced(response: Response | None) -> tuple[Outcome, Line]:
    """Of a produce; without an answer the records may be in the log."""
    if not isinstance(response, ProduceResponse):
        return Outcome.INDEFINITE, {"error_code": ErrorCode.REQUEST_TIMED_OUT.value}
    fields = _answered(response)
    if response.error_code is ErrorCode.NONE:
        fields |= {"offset": response.base_offset, "high_watermark": response.high_watermark}
        return Outcome.OK, fields
    fields["error_code"] = response.error_code.value
    indefinite = response.error_code.is_indefinite
    return Outcome.INDEFINITE if indefinite else Outcome.DEFINITE_ERROR, fields


def fetched(response: Response | None) -> tuple[Outcome, Line]:
    """Of a fetch; without an answer nothing was read."""
    if not isinstance(response, FetchResponse):
        return Outcome.DEFINITE_ERROR, {"error_code": ErrorCode.REQUEST_TIMED_OUT.value}
    fields = _answered(response) | {
        "high_watermark": response.high_watermark,
        "log_end_offset": response.log_end_offset,
    }
    if response.error_code is not ErrorCode.NONE:
        fields["error_code"] = response.error_code.value
        return Outcome.DEFINITE_ERROR, fields
    fields["values"] = [record.value for record in response.records]
    fields["record_epochs"] = [record.leader_epoch for record in response.records]
    return Outcome.OK, fields


def _answered(response: ProduceResponse | FetchResponse) -> Line:
    return {
        "broker_id": response.broker_id,
        "leader_epoch": response.leader_epoch,
        "partition_incarnation": response.partition_incarnation or None,
    }
