"""What the controller tells all brokers of the cluster: one body per change, shared by them (UMD).

A body is made once, and is one value in every broker's queue: what is in memory is proportional to
the partitions, not to partitions times brokers (UMD-001). Bodies are numbered in each generation of
the controller, in the order in which every broker must take them.
`SendUpdateMetadata` of `spec/tla/MetadataPropagation.tla`.
"""

from typing import NamedTuple

from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.controller_context import ControllerContext, KnownState
from fencepost.impl.core.types.broker_reports import PartitionId
from fencepost.impl.core.types.messages import LiveEndpoint, PartitionState, UpdateMetadataRequest
from fencepost.spec.vocabulary import BrokerId, ControllerEpoch
from fencepost.spec.znodes import TopicPartition

_Told = tuple[KnownState, tuple[BrokerId, ...], tuple[BrokerId, ...]]
"""A state with its version, the assigned replicas, and those with a failed log."""


class Sealed(NamedTuple):
    """A body that will not change, and whether it tells of brokers that the one before did not."""

    body: UpdateMetadataRequest
    has_new_brokers: bool


class MetadataBodies:
    """The bodies of one generation of the controller."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._version = 0
        self._told: dict[TopicPartition, _Told] = {}
        self._brokers: tuple[LiveEndpoint, ...] = ()
        self._full: UpdateMetadataRequest | None = None
        """The body that tells all, as of `_version`, once one was asked for."""

    def seal(self, context: ControllerContext, epoch: ControllerEpoch) -> Sealed | None:
        """The body that tells what has changed since the last one; None when nothing has."""
        touched, context.touched, context.are_brokers_touched = context.touched, set(), False
        brokers = _live_brokers(context)
        has_new_brokers = not {*brokers} <= {*self._brokers}
        changed, deleted = self._learn(context, touched)
        if not (brokers != self._brokers or changed or deleted):
            return None
        self._version += 1
        self._brokers, self._full = brokers, None
        return Sealed(self._body(context, epoch, changed, deleted), has_new_brokers)

    def full(self, context: ControllerContext, epoch: ControllerEpoch) -> UpdateMetadataRequest:
        """The body that tells all that the last one has left, made once for every change."""
        if self._full is None:
            states = [_state(context, key, self._told[key]) for key in sorted(self._told)]
            self._full = self._body(context, epoch, states, [], is_full=True)
        return self._full

    def _learn(
        self, context: ControllerContext, touched: set[TopicPartition]
    ) -> tuple[list[PartitionState], list[PartitionId]]:
        """What is new of the touched partitions, and which of those that were told are gone."""
        changed, deleted = [], []
        for key in sorted(touched):
            known, assigned = context.states.get(key), context.assignments.get(key)
            if known is None or assigned is None:
                if self._told.pop(key, None) is not None:
                    deleted.append(PartitionId(topic=key.topic, partition=key.partition))
                continue
            failed = tuple(sorted(context.offline_in(key))) if context.offline else ()
            told = known, assigned, failed
            if self._told.get(key) != told:
                self._told[key] = told
                changed.append(_state(context, key, told))
        return changed, deleted

    def _body(
        self,
        context: ControllerContext,
        epoch: ControllerEpoch,
        states: list[PartitionState],
        deleted: list[PartitionId],
        *,
        is_full: bool = False,
    ) -> UpdateMetadataRequest:
        return UpdateMetadataRequest(
            controller_id=self._config.broker_id,
            controller_epoch=epoch,
            max_broker_epoch=max(context.live.values()),
            metadata_version=self._version,
            is_full=is_full,
            brokers=self._brokers,
            partitions=tuple(states),
            deleted=tuple(deleted),
        )


def _state(context: ControllerContext, key: TopicPartition, told: _Told) -> PartitionState:
    (state, znode_version), assigned, failed = told
    return PartitionState(
        topic=key.topic,
        partition=key.partition,
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        isr=tuple(sorted(state.isr)),
        znode_version=znode_version,
        assigned_replicas=assigned,
        topic_id=state.topic_id,
        partition_incarnation=context.incarnation(key),
        offline_replicas=failed,
    )


def _live_brokers(context: ControllerContext) -> tuple[LiveEndpoint, ...]:
    """Those that tell where they listen, ascending."""
    return tuple(
        LiveEndpoint(
            broker_id=broker_id,
            host=context.endpoints[broker_id].host,
            port=context.endpoints[broker_id].port,
            broker_epoch=context.live[broker_id],
        )
        for broker_id in sorted(context.live)
        if broker_id in context.endpoints
    )
