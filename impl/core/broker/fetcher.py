"""The follower's side of a broker: compare logs with the leader, truncate, fetch, append.

One request per partition is out at a time; an answer to any other is ignored, so that after a
change of role nothing of the old leader can be appended (CMD-003, CMD-004).
"""

from dataclasses import dataclass

from msgspec.structs import replace

from fencepost.impl.core.broker.replicas import Replicas
from fencepost.impl.core.config import Config
from fencepost.impl.core.rules.replica import Replica, truncate_log
from fencepost.impl.core.rules.tables import Role
from fencepost.impl.core.types.effects import AppendRecords, TruncateRecords
from fencepost.impl.core.types.messages import (
    FetchRequest,
    FetchResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from fencepost.impl.core.types.scripts import Outbox
from fencepost.spec.vocabulary import NO_BROKER, ErrorCode, Offset
from fencepost.spec.znodes import TopicPartition


@dataclass(slots=True)
class PartitionFetch:
    """The ReplicaFetcherThread of V3, without the thread."""

    request_id: int | None = None
    next_ms: int = 0


class Fetcher:
    """Fetches for every partition that this broker follows."""

    def __init__(self, config: Config, outbox: Outbox, replicas: Replicas) -> None:
        self._config = config
        self._outbox = outbox
        self._replicas = replicas
        self._fetches: dict[TopicPartition, PartitionFetch] = {}
        self._is_ending = False

    def stop_fetching(self, key: TopicPartition) -> None:
        """No answer that is still under way will be taken."""
        self._fetches.pop(key, None)

    def begin_ending(self) -> None:
        """The broker has asked to end: it does not come back into an ISR that it has left."""
        self._is_ending = True

    def start_fetching(self, key: TopicPartition) -> None:
        """The follower asks its leader, if there is one."""
        replica = self._replicas[key]
        if replica.leader == NO_BROKER:
            return
        if self._is_ending and not self._config.rules.follows_when_ending(replica):
            return
        self._fetches[key] = PartitionFetch()
        self._ask(key)

    def tick(self, key: TopicPartition) -> None:
        """What failed is asked again after a pause."""
        fetcher = self._fetches.get(key)
        if fetcher and fetcher.request_id is None and fetcher.next_ms <= self._outbox.now_ms:
            self._ask(key)

    def due_ms(self, key: TopicPartition) -> int | None:
        """When `tick` has something to ask."""
        fetcher = self._fetches.get(key)
        return fetcher.next_ms if fetcher and fetcher.request_id is None else None

    def truncate(self, key: TopicPartition, offset: Offset) -> None:
        """The log ends at `offset` at the latest, on disk too."""
        after, taken = truncate_log(self._replicas[key], offset)
        if taken is None:
            return
        self._outbox.emit(TruncateRecords(topic_partition=key, offset=offset))
        self._replicas.producers(key).truncate(offset)
        self._replicas.take(after, taken)

    def on_failure(self, request_id: int, key: TopicPartition) -> None:
        """No answer came."""
        self._pause(request_id, key)

    def on_fetch_response(
        self, request_id: int, key: TopicPartition, response: FetchResponse
    ) -> None:
        """Records and high watermark are taken if this is the answer that is waited for."""
        replica = self._expected(request_id, key)
        if replica is None:
            return
        if response.error_code is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._on_out_of_range(replica, response)
        elif response.error_code is ErrorCode.NONE and self._config.rules.is_current_fetch(
            replica, response
        ):
            self._append(replica, response)
            self._ask(key)
        else:
            self._ask_later(request_id, key, response.error_code)

    def on_epoch_response(
        self, request_id: int, key: TopicPartition, response: OffsetForLeaderEpochResponse
    ) -> None:
        """The log is cut where it parts from the leader's; then fetching starts (CMD-005)."""
        replica = self._expected(request_id, key)
        if replica is None:
            return
        is_current = response.current_leader_epoch == replica.leader_epoch
        if response.error_code is not ErrorCode.NONE or not is_current:
            self._ask_later(request_id, key, response.error_code)
            return
        offset, agree = self._config.rules.compare_logs(
            replica, response.leader_epoch, response.end_offset
        )
        self.truncate(key, offset)
        if agree:
            self._replicas.put(replace(self._replicas[key], needs_truncation=False))
        self._ask(key)

    def _expected(self, request_id: int, key: TopicPartition) -> Replica | None:
        fetcher = self._fetches.get(key)
        if fetcher and self._config.rules.is_awaited(fetcher.request_id, request_id):
            return self._replicas[key]
        return None

    def _on_out_of_range(self, replica: Replica, response: FetchResponse) -> None:
        """The leader's log is shorter than this one, although it is followed."""
        key = replica.topic_partition
        after = self._config.rules.obey_shorter_leader(replica, response)
        self.truncate(key, after.log_end_offset)
        cut = self._replicas[key]
        self._replicas.put(replace(cut, needs_truncation=after.needs_truncation))
        self._ask(key)

    def _append(self, replica: Replica, response: FetchResponse) -> None:
        records = self._config.rules.whole_batches(response.records)
        append = self._config.rules.follower_append
        after, taken = append(replica, records, response.high_watermark)
        if after == replica:
            return
        key, base = replica.topic_partition, replica.log_end_offset
        if records:
            self._outbox.emit(AppendRecords(topic_partition=key, base_offset=base, records=records))
        self._replicas.producers(key).append(base, records)
        self._replicas.take(after, taken)

    def _ask_later(self, request_id: int, key: TopicPartition, error: ErrorCode) -> None:
        if self._config.rules.asks_again(error):
            self._pause(request_id, key)
        else:
            self.stop_fetching(key)

    def _pause(self, request_id: int, key: TopicPartition) -> None:
        fetcher = self._fetches.get(key)
        if fetcher and fetcher.request_id == request_id:
            fetcher.request_id = None
            fetcher.next_ms = self._config.retry_at_ms(self._outbox.now_ms)
            self._replicas.touch(key)

    def _ask(self, key: TopicPartition) -> None:
        replica = self._replicas[key]
        assert replica.role is Role.FOLLOWER, f"{key}: only a follower fetches"
        request = self._epoch_request(replica) if replica.needs_truncation else self._fetch(replica)
        timeout_ms = self._config.request_timeout_ms + self._config.follower_wait_ms
        self._fetches[key].request_id = self._outbox.send(replica.leader, request, timeout_ms)

    def _fetch(self, replica: Replica) -> FetchRequest:
        return FetchRequest(
            topic=replica.topic_partition.topic,
            partition=replica.topic_partition.partition,
            replica_id=replica.broker_id,
            leader_epoch=self._config.rules.fetch_epoch(replica),
            fetch_offset=replica.log_end_offset,
            partition_incarnation=replica.partition_incarnation,
            max_records=self._config.fetch_records_max,
            max_wait_ms=self._config.follower_wait_ms,
            broker_epoch=self._config.rules.named_broker_epoch(self._replicas.broker_epoch),
        )

    def _epoch_request(self, replica: Replica) -> OffsetForLeaderEpochRequest:
        return OffsetForLeaderEpochRequest(
            topic=replica.topic_partition.topic,
            partition=replica.topic_partition.partition,
            replica_id=replica.broker_id,
            current_leader_epoch=replica.leader_epoch,
            leader_epoch=replica.last_epoch,
            partition_incarnation=replica.partition_incarnation,
        )
