"""Mutants' wrong rules of what a broker obeys; the protocol's are `is_newer` and incarnations."""

from fencepost.impl.core.broker.replicas import Replicas
from fencepost.impl.core.config import Config
from fencepost.impl.core.rules.replica import Replica, is_newer
from fencepost.impl.core.types.messages import LeaderAndIsrRequest, PartitionState


class Obedience:
    """Says no to both questions unless a mutant is active."""

    def __init__(self, config: Config, replicas: Replicas) -> None:
        self._config = config
        self._replicas = replicas

    def obeys_anyhow(self, replica: Replica, command: PartitionState) -> bool:
        """The command is obeyed, however old it is (CMD-002)."""
        if self._config.mutant == "accept_older_leader_epoch":
            return True
        if self._config.mutant == "commands_without_epochs":
            return True
        if self._config.mutant == "refresh_without_version":
            is_other_version = command.znode_version != replica.znode_version
            return command.leader_epoch == replica.leader_epoch and is_other_version
        if self._config.mutant == "leader_epoch_not_raised":
            return command.znode_version > replica.znode_version
        return False

    def refuses_anyhow(self, command: PartitionState, request: LeaderAndIsrRequest) -> bool:
        """The command is refused, although it is new (CMD-006, CMD-009)."""
        if self._config.mutant == "refuse_unknown_partition":
            return self._replicas.get(command.key) is None
        if self._config.mutant == "refuse_together":
            known = ((self._replicas.get(one.key), one) for one in request.partitions)
            return any(replica is not None and not is_newer(replica, one) for replica, one in known)
        return False
