"""A node: a broker that may be the controller, as one deterministic machine.

`step(event, now_ms)` returns the effects that the shell must perform, in order. Same start and same
events give the same effects: no clock, no chance, no I/O.
"""

from collections.abc import Mapping
from typing import assert_never

from fencepost.impl.core.admin.coordinators import Coordinators
from fencepost.impl.core.admin.mutation_quota import MutationQuotas
from fencepost.impl.core.admin.partition_admin import PartitionAdmin
from fencepost.impl.core.admin.producer_ids import ProducerIds
from fencepost.impl.core.admin.topic_admin import TopicAdmin
from fencepost.impl.core.admin.topic_creation import TopicCreation
from fencepost.impl.core.broker.broker import Broker
from fencepost.impl.core.broker.replicas import Replicas
from fencepost.impl.core.config import Config
from fencepost.impl.core.configuration.config_store import ConfigStore
from fencepost.impl.core.configuration.forwarding import BY_ANY_BROKER, Forwarding
from fencepost.impl.core.configuration.mutations import ConfigReads, Mutations
from fencepost.impl.core.configuration.token_expiry import TokenExpiry
from fencepost.impl.core.controller.controlled_shutdown import ControlledShutdown
from fencepost.impl.core.controller.controller import Controller
from fencepost.impl.core.controller.controller_election import ControllerElection
from fencepost.impl.core.controller.registration import BrokerRegistration
from fencepost.impl.core.metadata.metadata_cache import MetadataCache
from fencepost.impl.core.rules.configuration.asked_change import ChangeRequest
from fencepost.impl.core.rules.producers import ProducerTable
from fencepost.impl.core.rules.replica import RecoveredLog, Replica
from fencepost.impl.core.types.broker_reports import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    IsrChangedRequest,
    IsrChangedResponse,
    LogsFailedRequest,
    LogsFailedResponse,
)
from fencepost.impl.core.types.config_messages import (
    DescribeConfigsRequest,
    DescribeDelegationTokenRequest,
    DescribeMutationQuotasRequest,
)
from fencepost.impl.core.types.effects import Effect
from fencepost.impl.core.types.events import (
    ChildrenListed,
    Event,
    LogFailed,
    RequestFailed,
    RequestReceived,
    ResponseReceived,
    SessionEstablished,
    SessionLost,
    SessionReconnected,
    SessionSuspended,
    ShutdownAsked,
    Tick,
    WatchFired,
    ZnodesRead,
    ZnodesWritten,
    ZooKeeperEvent,
)
from fencepost.impl.core.types.messages import (
    AdminRequest,
    BrokerReport,
    ControlRequest,
    FetchRequest,
    FetchResponse,
    InitProducerIdRequest,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    ListOffsetsRequest,
    ListPartitionReassignmentsRequest,
    MetadataRequest,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    ProduceRequest,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from fencepost.impl.core.types.node_session import NodeSession
from fencepost.impl.core.types.request_header import ForwardableRequest, RedirectedRequest
from fencepost.impl.core.types.scripts import Outbox
from fencepost.impl.core.types.topic_messages import AdminResponse, FindCoordinatorRequest
from fencepost.spec.config_store import CONFIG_CHANGES
from fencepost.spec.vocabulary import ErrorCode
from fencepost.spec.znodes import ADMIN, BROKER_IDS, TOPICS, TopicPartition, partition_of, topic_of

DescribeRequest = (
    DescribeConfigsRequest | DescribeDelegationTokenRequest | DescribeMutationQuotasRequest
)


class Node:
    """Broker, controller and registration behind one door."""

    def __init__(self, config: Config, recovered: Mapping[TopicPartition, RecoveredLog]) -> None:
        self._config = config
        self._outbox = Outbox()
        of_log = config.rules.recovered_producers
        producers = {key: ProducerTable(of_log(log)) for key, log in recovered.items()}
        replicas = Replicas(config, self._outbox, _restore(config, recovered), producers)
        self.broker = Broker(config, self._outbox, replicas)
        self.metadata = MetadataCache(config, self._outbox)
        self.controller = Controller(config, self._outbox)
        session = NodeSession()
        self.controller_election = ControllerElection(
            config, self._outbox, session, self.broker, self.controller
        )
        self.registration = BrokerRegistration(
            config, self._outbox, session, self.broker, self.controller_election
        )
        self.controlled_shutdown = ControlledShutdown(config, self._outbox, session, self.broker)
        self.topic_creation = TopicCreation(config, self._outbox, session)
        self.producer_ids = ProducerIds(config, self._outbox)
        self.configs = ConfigStore(config, self._outbox)
        self.config_reads = ConfigReads(config, self._outbox, self.configs)
        self.forwarding = Forwarding(
            config, self._outbox, self.broker, self.controller_election, self.controller
        )
        self.mutations = Mutations(config, self._outbox, self.broker, self.forwarding)
        self.token_expiry = TokenExpiry(
            config, self._outbox, self.controller, self.configs, self.mutations
        )
        self.quotas = MutationQuotas(config, self._outbox, self.controller, self.configs)
        served = self.forwarding, self.quotas, self.topic_creation
        self.topic_admin = TopicAdmin(config, self._outbox, *served)
        self.coordinators = Coordinators(config, self._outbox, *served)
        if config.has_mutation_quota:
            self.configs.expect()

    def step(self, event: Event, now_ms: int) -> list[Effect]:
        """Apply `event` at `now_ms`; return what must be done now, in order."""
        self._outbox.now_ms = now_ms
        match event:
            case RequestReceived():
                self._on_request(event)
            case ResponseReceived():
                self._on_response(event)
            case RequestFailed():
                self._on_failure(event)
            case Tick(wall_ms=wall_ms):
                self._on_tick(wall_ms)
            case LogFailed():
                self.broker.on_log_failed(event)
            case ShutdownAsked():
                self.controlled_shutdown.begin()
            case _:
                self._on_zookeeper(event)
        self.controller.proceed()
        return self._outbox.drain()

    def _on_zookeeper(self, event: ZooKeeperEvent) -> None:
        match event:
            case ZnodesRead() | ChildrenListed() | ZnodesWritten():
                self._outbox.answer(event)
            case WatchFired():
                self._on_watch(event)
            case SessionEstablished():
                self.registration.on_session_established(event.session_id)
                self.configs.on_session()
                if self._config.reads_configuration:
                    self.configs.begin()
            case SessionLost():
                self.registration.on_session_lost()
            case SessionReconnected() | SessionSuspended():
                return
            case _:
                assert_never(event)

    def _on_request(self, event: RequestReceived) -> None:
        if self.quotas.muted.holds(event, self._outbox.now_ms):
            return
        token, request = event.token, event.request
        match request:
            case LeaderAndIsrRequest():
                self._resign_to(request)
                self.broker.on_leader_and_isr(token, request)
            case StopReplicaRequest():
                self._resign_to(request)
                self.broker.on_stop_replica(token, request)
            case UpdateMetadataRequest():
                self._resign_to(request)
                self._on_metadata(token, request)
            case LogsFailedRequest() | IsrChangedRequest() | ControlledShutdownRequest():
                self._on_report(token, request)
            case FetchRequest():
                self.broker.fetches.on_fetch(token, request)
            case OffsetForLeaderEpochRequest():
                self.broker.offsets.on_offset_for_leader_epoch(token, request)
            case ProduceRequest():
                self.broker.on_produce(token, request)
            case ListOffsetsRequest():
                self.broker.offsets.on_list_offsets(token, request)
            case _:
                self._on_admin_request(event, request)

    def _on_report(self, token: int, request: BrokerReport) -> None:
        match request:
            case LogsFailedRequest():
                self.controller.on_logs_failed(token, request)
            case IsrChangedRequest():
                self.controller.on_isr_changed(token, request)
            case ControlledShutdownRequest():
                self.controller.on_controlled_shutdown(token, request)

    def _on_metadata(self, token: int, request: UpdateMetadataRequest) -> None:
        error = self.broker.metadata_error(request)
        if error is ErrorCode.NONE:
            error = self.metadata.update(request)
            self.broker.replicas.registered = self.metadata.registered
        self._outbox.reply(token, UpdateMetadataResponse(error_code=error))

    @property
    def answers_as_told(self) -> bool:
        """True while clients hear what the controller told, and not what ZooKeeper holds."""
        is_told = self.metadata.is_told_by(self.broker.controller_epoch)
        return self._config.rules.tells_metadata and is_told

    def _answer_metadata(self, token: int) -> None:
        if self.answers_as_told:
            self.metadata.on_metadata(token)
        else:
            self.topic_creation.on_metadata(token, is_started=self.broker.is_ready)

    def _on_admin_request(
        self,
        event: RequestReceived,
        request: AdminRequest | ChangeRequest | DescribeRequest,
    ) -> None:
        token = event.token
        match request:
            case RedirectedRequest():
                self.mutations.on_request(token, request, event.asker, event.wall_ms)
            case (
                DescribeConfigsRequest()
                | DescribeDelegationTokenRequest()
                | DescribeMutationQuotasRequest()
            ):
                self._describe(event, request)
            case ListPartitionReassignmentsRequest():
                PartitionAdmin(self._config, self._outbox, BY_ANY_BROKER).on_list(token)
            case FindCoordinatorRequest():
                self.coordinators.on_find_coordinator(event, request)
            case MetadataRequest():
                self._answer_metadata(token)
            case InitProducerIdRequest():
                self.producer_ids.on_init_producer_id(token)
            case _:
                self.topic_admin.on_request(event, request)

    def _describe(self, event: RequestReceived, request: DescribeRequest) -> None:
        match request:
            case DescribeConfigsRequest():
                self.config_reads.on_describe_configs(event.token, request)
            case DescribeDelegationTokenRequest():
                self.config_reads.on_describe_tokens(event.token, request, event.asker)
            case DescribeMutationQuotasRequest():
                self.quotas.on_describe(event.token)

    def _resign_to(self, request: ControlRequest) -> None:
        """A controller that meets a larger epoch resigns (CTL-007)."""
        own = self.controller.controller_epoch
        if self._config.rules.deposes_controller(own, request.controller_epoch):
            self.controller.resign()

    def _on_response(self, event: ResponseReceived) -> None:
        match event.request, event.response:
            case (
                (LeaderAndIsrRequest(), LeaderAndIsrResponse() as response)
                | (StopReplicaRequest(), StopReplicaResponse() as response)
                | (UpdateMetadataRequest(), UpdateMetadataResponse() as response)
            ):
                self.controller.on_answer(event.sender, event.request_id, response)
            case LogsFailedRequest() as request, LogsFailedResponse() as response:
                self.broker.failed_logs.on_answer(request, response, self.broker.controller_epoch)
            case IsrChangedRequest() as request, IsrChangedResponse() as response:
                self.broker.isr_reports.on_answer(request, response, self.broker.controller_epoch)
            case ControlledShutdownRequest(), ControlledShutdownResponse() as response:
                self.controlled_shutdown.on_answer(response)
            case FetchRequest() as request, FetchResponse() as response:
                key = request.key
                self.broker.fetcher.on_fetch_response(event.request_id, key, response)
            case (
                OffsetForLeaderEpochRequest() as request,
                OffsetForLeaderEpochResponse() as response,
            ):
                key = request.key
                self.broker.fetcher.on_epoch_response(event.request_id, key, response)
            case ForwardableRequest(), AdminResponse() as response:
                self.forwarding.on_answer(event.request_id, response)
            case _:
                raise AssertionError(f"{event.response} does not answer {event.request}")

    def _on_failure(self, event: RequestFailed) -> None:
        if isinstance(event.request, ControlRequest):
            self.controller.on_no_answer(event.to, event.request_id)
            return
        if isinstance(event.request, LogsFailedRequest):
            self.broker.failed_logs.on_failure()
            return
        if isinstance(event.request, IsrChangedRequest):
            self.broker.isr_reports.on_failure()
            return
        if isinstance(event.request, ControlledShutdownRequest):
            self.controlled_shutdown.on_failure()
            return
        if isinstance(event.request, ForwardableRequest):
            self.forwarding.on_failure(event.request_id, event.request)
            return
        key = event.request.key
        self.broker.fetcher.on_failure(event.request_id, key)

    def _on_watch(self, event: WatchFired) -> None:
        if event.path == CONFIG_CHANGES:
            self.configs.on_change()
        elif event.path == BROKER_IDS:
            self.controller.on_broker_change()
        elif event.path == TOPICS:
            self.controller.on_topic_change()
        elif topic_of(event.path) is not None:
            self.controller.on_topic_change(topic_of(event.path))
        elif event.path.startswith(f"{ADMIN}/") or partition_of(event.path) is not None:
            self.controller.on_partition_request()
        else:
            self.registration.on_watch(event.path)

    def _on_tick(self, wall_ms: int) -> None:
        for event in self.quotas.muted.release(self._outbox.now_ms):
            self._on_request(event)
        self.registration.tick()
        self.controller.tick()
        self.broker.tick()
        self.configs.tick()
        self.token_expiry.tick(wall_ms)
        controller_id = self.controller_election.active_controller_id
        self.broker.failed_logs.tick(controller_id, self.broker.broker_epoch)
        if self.metadata.is_told_by(self.broker.controller_epoch):
            self.broker.isr_reports.tick(controller_id, self.broker.broker_epoch)
        self.controlled_shutdown.tick(controller_id)


def _restore(config: Config, recovered: Mapping[TopicPartition, RecoveredLog]) -> list[Replica]:
    return [
        Replica(
            broker_id=config.broker_id,
            topic_partition=key,
            high_watermark=config.rules.recovered_high_watermark(log),
            log_end_offset=log.log_end_offset,
            epoch_starts=log.epoch_starts,
            partition_incarnation=log.partition_incarnation,
        )
        for key, log in sorted(recovered.items())
    ]
