"""How a client's operation ended, and the fields of its trace line: from the answer that it got."""

from fencepost.impl.core.types.messages import FetchResponse, ProduceResponse, Response
from fencepost.impl.trace_lines import Line
from fencepost.spec.vocabulary import ErrorCode, Outcome


def produced(response: Response | None) -> tuple[Outcome, Line]:
    """Of a produce; without an answer the records may be in the log."""
    if not isinstance(response, ProduceResponse):
        return Outcome.INDEFINITE, {"error_code": ErrorCode.REQUEST_TIMED_OUT.value}
    fields: Line = {
        "broker_id": response.broker_id,
        "leader_epoch": response.leader_epoch,
        "partition_incarnation": response.partition_incarnation or None,
    }
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
    fields: Line = {
        "broker_id": response.broker_id,
        "leader_epoch": response.leader_epoch,
        "partition_incarnation": response.partition_incarnation or None,
        "high_watermark": response.high_watermark,
        "log_end_offset": response.log_end_offset,
    }
    if response.error_code is not ErrorCode.NONE:
        fields["error_code"] = response.error_code.value
        return Outcome.DEFINITE_ERROR, fields
    fields["values"] = [record.value for record in response.records]
    fields["record_epochs"] = [record.leader_epoch for record in response.records]
    return Outcome.OK, fields
