"""Wrong rules of what producers and consumers are answered (CLI, REPL-008, CMD-004)."""

from dataclasses import replace

from msgspec import structs

from fencepost.impl.core.rules.producers import UNKNOWN_PRODUCER, ProducerState, ProducerTable
from fencepost.impl.core.rules.produces import ProduceEnd
from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.core.rules.tables import Role
from fencepost.impl.core.types.messages import FetchRequest, ProduceRequest, Record
from fencepost.impl.mutants.mutant import hunted_at, mutant, suite_mutant
from fencepost.spec.vocabulary import (
    NO_BROKER,
    ErrorCode,
    Invariant,
    LeaderEpoch,
    Offset,
    ProducerId,
    ProtocolLevel,
)


@mutant(3, "REPL-008", {Invariant.ACKNOWLEDGED_DURABLE, Invariant.LINEARIZABLE_LOG})
def acknowledge_before_replication(rules: Rules) -> Rules:
    """A produce with acks=all is answered when the leader alone has it."""
    return replace(rules, answers_at_once=lambda _request: True)


@mutant(41, "CLI-005", {Invariant.LINEARIZABLE_LOG}, shows="LinearizableLog")
def forget_producers_on_leader_change(rules: Rules) -> Rules:
    """A new leader forgets what its log holds of producers, and appends retries again."""

    def known_of_producer(
        leader: Replica, producers: ProducerTable, producer_id: ProducerId
    ) -> ProducerState:
        known = rules.known_of_producer(leader, producers, producer_id)
        own = (one for one in known.batches if one.base_offset >= leader.epoch_start_offset)
        return structs.replace(known, batches=tuple(own))

    def sequence_error(state: ProducerState, request: ProduceRequest) -> ErrorCode:
        if state == UNKNOWN_PRODUCER:
            return ErrorCode.NONE
        return rules.sequence_error(state, request)

    return replace(rules, known_of_producer=known_of_producer, sequence_error=sequence_error)


@hunted_at(ProtocolLevel.BROKER_EPOCH)
@mutant(44, "CLI-002", {Invariant.LINEARIZABLE_LOG}, seed=3)
def refuse_above_high_watermark(rules: Rules) -> Rules:
    """A leader with a high watermark that lags refuses offsets that a reader has reached."""

    def fetch_error(replica: Replica | None, request: FetchRequest) -> ErrorCode:
        error = rules.fetch_error(replica, request)
        if replica is None or error is not ErrorCode.NONE or request.replica_id != NO_BROKER:
            return error
        is_above = request.fetch_offset > replica.high_watermark
        return ErrorCode.OFFSET_OUT_OF_RANGE if is_above else ErrorCode.NONE

    return replace(rules, fetch_error=fetch_error)


@mutant(61, "CLI-003", {Invariant.LINEARIZABLE_LOG}, shows="LinearizableLog")
def followers_serve_consumers(rules: Rules) -> Rules:
    """A broker that does not lead answers consumers from what it knows."""

    def fetch_error(replica: Replica | None, request: FetchRequest) -> ErrorCode:
        if replica is not None and request.replica_id == NO_BROKER:
            replica = structs.replace(replica, role=Role.LEADER)
        return rules.fetch_error(replica, request)

    return replace(rules, fetch_error=fetch_error)


@mutant(78, "CMD-004", {Invariant.ACKNOWLEDGED_DURABLE}, shows="AcknowledgedDurable")
def acknowledge_on_step_down(rules: Rules) -> Rules:
    """A leader that steps down answers delayed produces as if they were committed."""
    ends = {**rules.produce_ends, ProduceEnd.NO_LEADER: ErrorCode.NONE}
    return replace(rules, produce_ends=ends)


@mutant(87, "REPL-008", {Invariant.MIN_INSYNC_REPLICAS}, seed=1)
def append_under_a_small_isr(rules: Rules) -> Rules:
    """A leader appends for acks=all, however few replicas are in sync."""
    return replace(rules, has_too_few_in_sync=lambda _leader, _request, _least: False)


@hunted_at(ProtocolLevel.BROKER_EPOCH)
@mutant(91, "CLI-005", {Invariant.SEQUENCES_IN_ORDER}, seed=70)
def forget_producers_at_start(rules: Rules) -> Rules:
    """A broker that starts knows nothing of the producers in its logs."""
    return replace(rules, recovered_producers=lambda _log: {})


@mutant(92, "CLI-005", {Invariant.SEQUENCES_IN_ORDER}, seed=1)
def append_batch_in_part(rules: Rules) -> Rules:
    """A follower appends a batch as far as one answer has it."""
    return replace(rules, whole_batches=lambda records: records)


@mutant(93, "CLI-005", {Invariant.SEQUENCES_IN_ORDER})
def skip_sequences(rules: Rules) -> Rules:
    """A leader appends a batch that overtook the one before it."""

    def sequence_error(state: ProducerState, request: ProduceRequest) -> ErrorCode:
        error = rules.sequence_error(state, request)
        last = state.batches[-1] if state.batches else None
        is_ahead = last is not None and request.base_sequence > last.end_sequence
        is_of_epoch = last is not None and request.producer_epoch == last.producer_epoch
        return ErrorCode.NONE if is_ahead and is_of_epoch else error

    return replace(rules, sequence_error=sequence_error)


@suite_mutant("REPL-008")
def acknowledge_all_alike(rules: Rules) -> Rules:
    """A produce with acks=1 waits for the ISR, as one with acks=all."""
    return replace(rules, answers_at_once=lambda _request: False)


@suite_mutant("CLI-005")
def refuse_what_is_appended(rules: Rules) -> Rules:
    """A produce that is in the log, and not committed in time, is answered as if refused."""
    ends = {**rules.produce_ends, ProduceEnd.EXPIRED: ErrorCode.NOT_ENOUGH_REPLICAS}
    return replace(rules, produce_ends=ends)


@suite_mutant("CLI-002")
def answer_beyond_the_end(rules: Rules) -> Rules:
    """A fetch beyond the end of the log gets an empty answer, as one at the end."""

    def fetch_error(replica: Replica | None, request: FetchRequest) -> ErrorCode:
        error = rules.fetch_error(replica, request)
        is_beyond = error is ErrorCode.OFFSET_OUT_OF_RANGE and request.replica_id == NO_BROKER
        return ErrorCode.NONE if is_beyond else error

    return replace(rules, fetch_error=fetch_error)


@suite_mutant("REPL-007")
def unknown_partition_is_broken(rules: Rules) -> Rules:
    """A fetch of a partition that there is not is answered as one of a broken log."""

    def fetch_error(replica: Replica | None, request: FetchRequest) -> ErrorCode:
        return ErrorCode.STORAGE_ERROR if replica is None else rules.fetch_error(replica, request)

    return replace(rules, fetch_error=fetch_error)


@suite_mutant("REPL-007")
def followers_deny_the_partition(rules: Rules) -> Rules:
    """A follower answers a producer as if there were no such partition."""

    def produce_error(replica: Replica) -> ErrorCode:
        is_follower = replica.role is Role.FOLLOWER
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return unknown if is_follower else rules.produce_error(replica)

    return replace(rules, produce_error=produce_error)


@suite_mutant("CLI-004")
def acknowledge_last_offset(rules: Rules) -> Rules:
    """A producer is told the offset of the last of its records."""
    return replace(rules, acknowledged_offset=lambda _base, end_offset: Offset(end_offset - 1))


@suite_mutant("CLI-005")
def append_twice(rules: Rules) -> Rules:
    """What a producer sends once is in the log twice."""

    def batch_records(request: ProduceRequest, leader_epoch: LeaderEpoch) -> tuple[Record, ...]:
        return rules.batch_records(request, leader_epoch) * 2

    return replace(rules, batch_records=batch_records)


@suite_mutant("CLI-003")
def route_to_preferred(rules: Rules) -> Rules:
    """Clients are sent to the preferred replica, whichever leads."""
    return replace(rules, routed_leader=lambda _state, assigned_replicas: assigned_replicas[0])
