"""The one way to write znodes: what `MAY_WRITE` does not allow a writer cannot be asked for."""

from collections.abc import Generator

from fencepost.impl.core.rules.tables import Permissions, WriteKind, ZnodeKind
from fencepost.impl.core.types.effects import WriteZnodes
from fencepost.impl.core.types.events import ZnodesWritten
from fencepost.impl.core.types.scripts import UNASSIGNED, Answer, Ask
from fencepost.impl.core.types.zookeeper import Check, Create, SetData, WriteOp, WriteResult
from fencepost.spec.config_store import FOLDERS, EntityKind
from fencepost.spec.vocabulary import ANY_VERSION
from fencepost.spec.znodes import BROKER_IDS, CONTROLLER, CONTROLLER_EPOCH, PRODUCER_IDS

_ALONE = {
    CONTROLLER: ZnodeKind.CONTROLLER,
    CONTROLLER_EPOCH: ZnodeKind.CONTROLLER_EPOCH,
    PRODUCER_IDS: ZnodeKind.PRODUCER_IDS,
}
_BELOW = {
    CONTROLLER_EPOCH: ZnodeKind.CONTROLLER_TERM,
    BROKER_IDS: ZnodeKind.REGISTRATION,
    "/" + "/".join(FOLDERS[EntityKind.TOKEN]): ZnodeKind.TOKEN,
}


def write(permissions: Permissions, *ops: WriteOp) -> Generator[Ask, Answer, WriteResult]:
    """Ask for one multi; `permissions` are those of the writer."""
    for op in ops:
        if not isinstance(op, Check):
            kind = znode_kind(op.path)
            assert write_kind(op) in permissions.get(kind, ()), f"this writer may not: {op}"
    answer = yield WriteZnodes(op_id=UNASSIGNED, ops=ops)
    assert isinstance(answer, ZnodesWritten)
    return answer.result


def write_kind(op: WriteOp) -> WriteKind:
    """What the operation does to its znode."""
    if isinstance(op, Create):
        return WriteKind.CREATE_EPHEMERAL if op.ephemeral else WriteKind.CREATE
    is_as_read = op.expected_version != ANY_VERSION
    if isinstance(op, SetData):
        return WriteKind.SET_AS_READ if is_as_read else WriteKind.SET
    return WriteKind.DELETE_AS_READ if is_as_read else WriteKind.DELETE


def znode_kind(path: str) -> ZnodeKind:
    """What is at the path (ZK-001)."""
    folder = path.rpartition("/")[0]
    if path in _ALONE or folder in _BELOW:
        return _ALONE.get(path) or _BELOW[folder]
    match path.split("/")[1:]:
        case ["brokers", "topics", _, _, "leaderAndISR"]:
            return ZnodeKind.LEADER_AND_ISR
        case ["brokers", "topics", _]:
            return ZnodeKind.TOPIC
        case ["brokers", "topics", _, "id"]:
            return ZnodeKind.TOPIC_IDS
        case ["brokers", "topics", _, "id", _]:
            return ZnodeKind.TOPIC_ID
        case ["brokers", "topics", _, _]:
            return ZnodeKind.PARTITION
        case ["config" | "kafka-acl" | "delegation_token", *_]:
            return ZnodeKind.CONFIG
        case ["admin", _, _]:
            return ZnodeKind.REQUEST_FOLDER
        case ["admin", _, _, _]:
            return ZnodeKind.REQUEST
        case _:
            raise AssertionError(f"{path} is no znode of the protocol")
