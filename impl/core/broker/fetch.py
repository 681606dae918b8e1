"""The leader's answer to a fetch: records now, or later when there are some (REPL, CLI)."""

from dataclasses import dataclass

from fencepost.impl.core.broker.isr_update import IsrUpdates
from fencepost.impl.core.broker.produce import Produces
from fencepost.impl.core.broker.purgatory import DelayedFetch
from fencepost.impl.core.broker.refused import refuse_fetch
from fencepost.impl.core.broker.replicas import Replicas
from fencepost.impl.core.config import Config
from fencepost.impl.core.rules.replication import note_high_watermark_sent
from fencepost.impl.core.types.effects import ReplyRecords
from fencepost.impl.core.types.messages import FetchRequest, FetchResponse
from fencepost.impl.core.types.scripts import Outbox
from fencepost.spec.vocabulary import NO_BROKER, ErrorCode, Offset
from fencepost.spec.znodes import TopicPartition


@dataclass(slots=True)
class Fetches:
    """Serves followers and consumers from the logs that this broker leads."""

    _config: Config
    _outbox: Outbox
    _replicas: Replicas
    _isr_updates: IsrUpdates
    _produces: Produces

    def on_fetch(self, token: int, request: FetchRequest) -> None:
        """A follower gets records up to the log end, a consumer up to the high watermark."""
        key = request.key
        error = self._config.rules.fetch_error(self._replicas.get(key), request)
        if error is not ErrorCode.NONE:
            self._refuse(token, request, error)
            return
        if request.replica_id != NO_BROKER:
            self._serve_follower(key, request)
        self._answer(token, request)

    def advance(self, key: TopicPartition) -> None:
        """The high watermark is as high as it may be, and what waited for that is answered."""
        if self._replicas.advance(key):
            self._produces.answer_committed(key)
            self.answer_delayed(key)

    def answer_delayed(self, key: TopicPartition) -> None:
        """Answer all delayed fetches with what there is now."""
        for delayed in self._replicas.purgatory(key).take_fetches():
            self._end_delay(delayed)

    def refuse_delayed(self, key: TopicPartition) -> None:
        """Answer all delayed fetches of a replica that is given up."""
        for delayed in self._replicas.purgatory(key).take_fetches():
            self._refuse(delayed.token, delayed.request, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def expire(self, key: TopicPartition) -> None:
        """Answer the delayed fetches that are past their deadline."""
        for delayed in self._replicas.purgatory(key).expired_fetches(self._outbox.now_ms):
            self._end_delay(delayed)

    def _serve_follower(self, key: TopicPartition, request: FetchRequest) -> None:
        follower, fetch_offset = request.replica_id, request.fetch_offset
        rules, now_ms = self._config.rules, self._outbox.now_ms
        replica = rules.meet_follower(self._replicas[key], follower, request.broker_epoch)
        self._replicas.take(*rules.serve_fetch(replica, follower, fetch_offset, now_ms))
        self._replicas.put(rules.meet_registered(self._replicas[key], self._replicas.registered))
        self._isr_updates.expand(key)
        self.advance(key)

    def _answer(self, token: int, request: FetchRequest, *, may_wait: bool = True) -> None:
        """Answer now, or delay while there is nothing to tell that the asker does not know."""
        key = request.key
        replica = self._replicas[key]
        is_consumer = request.replica_id == NO_BROKER
        committed = self._config.rules.committed_end(replica)
        limit = committed if is_consumer else replica.log_end_offset
        end = min(limit, request.fetch_offset + request.max_records)
        if may_wait and end <= request.fetch_offset and request.max_wait_ms > 0:
            known = replica.followers.get(request.replica_id)
            if known is None or known.high_watermark_sent == replica.high_watermark:
                deadline_ms = self._outbox.now_ms + request.max_wait_ms
                delayed = DelayedFetch(token=token, request=request, deadline_ms=deadline_ms)
                self._replicas.purgatory(key).fetches.append(delayed)
                self._replicas.expect(key, deadline_ms)
                return
        if not is_consumer:
            self._replicas.put(note_high_watermark_sent(replica, request.replica_id))
        self._outbox.emit(
            ReplyRecords(
                token=token,
                response=self._response(request, ErrorCode.NONE),
                topic_partition=key,
                start=request.fetch_offset,
                end=Offset(max(end, request.fetch_offset)),
            )
        )

    def _end_delay(self, delayed: DelayedFetch) -> None:
        request = delayed.request
        key = request.key
        error = self._config.rules.fetch_error(self._replicas.get(key), request)
        if error is not ErrorCode.NONE:
            self._refuse(delayed.token, request, error)
            return
        self._answer(delayed.token, request, may_wait=False)

    def _refuse(self, token: int, request: FetchRequest, error_code: ErrorCode) -> None:
        self._outbox.emit(*refuse_fetch(request, error_code))
        self._outbox.reply(token, self._response(request, error_code))

    def _response(self, request: FetchRequest, error_code: ErrorCode) -> FetchResponse:
        replica = self._replicas.get(request.key)
        if replica is None or (error_code is not ErrorCode.NONE and not replica.is_leader):
            return FetchResponse(
                error_code=error_code,
                broker_id=self._config.broker_id,
                fetch_offset=request.fetch_offset,
            )
        return FetchResponse(
            error_code=error_code,
            broker_id=self._config.broker_id,
            fetch_offset=request.fetch_offset,
            leader_epoch=replica.leader_epoch,
            high_watermark=replica.high_watermark,
            log_end_offset=replica.log_end_offset,
            partition_incarnation=replica.partition_incarnation,
        )
