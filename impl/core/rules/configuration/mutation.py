"""One change of the configuration: what is read for it, and the one multi that makes it.

Every part is conditional on what was read, and so is `/config/changes`: of two writers that have
read the same, one is refused and reads again (`IsUnchanged` of `Forwarding`).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from fencepost.impl.core.rules.configuration.entries import (
    ENTRIES_MAX,
    Entries,
    changed,
    refuse_change,
)
from fencepost.impl.core.types.config_messages import (
    TAKEN,
    AlterConfigsRequest,
    ConfigRequest,
    EntityChange,
    EntityResult,
)
from fencepost.impl.core.types.refusals import Refusal
from fencepost.impl.core.types.znode_reading import parsed
from fencepost.impl.core.types.zookeeper import Create, Delete, SetData, WriteOp, Znode
from fencepost.spec.config_store import (
    CHANGES_KEPT,
    CONFIG_CHANGES,
    ConfigChangesDocument,
    ConfigEntity,
    config_bytes,
    folders_above,
    parse_config,
    parse_config_changes,
)
from fencepost.spec.vocabulary import ErrorCode
from fencepost.spec.znodes import MalformedZnodeError, document_bytes

ENTITIES_MAX = 100
"""Of one request: its multi must fit into a request to ZooKeeper."""
Znodes = Mapping[str, Znode]
ConfigOperation = Callable[[Znode, bytes], WriteOp]


@dataclass(slots=True)
class Mutation:
    """What becomes of each entity of a request, and what is written."""

    results: list[EntityResult] = field(default_factory=list)
    ops: list[WriteOp] = field(default_factory=list)
    written: list[EntityChange] = field(default_factory=list)
    """Those that change something, with the values that are stored then."""

    def alter(
        self, change: EntityChange, znode: Znode, operation: ConfigOperation, *, is_whole: bool
    ) -> Refusal | None:
        """The entity's write is part of the mutation, unless nothing changes; or why not."""
        before = entries_at(znode)
        if isinstance(before, Refusal):
            return before
        after = changed(before, change.changes, is_whole=is_whole)
        if len(after) > ENTRIES_MAX:
            return Refusal(ErrorCode.INVALID_CONFIG, f"{change.entity}: more than {ENTRIES_MAX}")
        if after != before:
            self.ops.append(operation(znode, config_bytes(after)))
            self.written.append(_told(change, after))
        return None

    def remove(self, entity: ConfigEntity, znode: Znode) -> None:
        """The entity's znode goes with all entries, if it stands as it was read."""
        assert znode.stat is not None, "what is removed was read"
        self.ops.append(Delete(path=znode.path, expected_version=znode.stat.version))
        self.written.append(EntityChange(kind=entity.kind, names=entity.names, changes=()))

    def complete(self, znodes: Znodes, operation: ConfigOperation) -> None:
        """What is written also writes `/config/changes`, and the folders that are not there."""
        if not self.ops:
            return
        paths = [one.entity.path for one in self.written]
        changes = operation(znodes[CONFIG_CHANGES], _changes(znodes[CONFIG_CHANGES], paths))
        self.ops = [*_folders([CONFIG_CHANGES, *paths], znodes), *self.ops, changes]


def entries_at(znode: Znode) -> dict[str, str] | Refusal:
    """The entries that stand; of a malformed znode why there are none."""
    try:
        return parse_config(znode.path, znode.data) if znode.stat is not None else {}
    except MalformedZnodeError as error:
        return Refusal(ErrorCode.INVALID_CONFIG, str(error))


def paths_of(request: ConfigRequest) -> tuple[str, ...]:
    """What a change depends on: the entities, the folders above them, and the changes so far."""
    judged = judged_changes(request)
    return paths_with_folders(one.entity.path for one, refusal in judged if refusal is None)


def paths_with_folders(entities: Iterable[str]) -> tuple[str, ...]:
    """Those of the entities, the folders above them, and the changes so far."""
    paths = [CONFIG_CHANGES, *entities]
    folders = sorted({folder for path in paths for folder in folders_above(path)})
    return tuple(dict.fromkeys((*paths, *folders)))


def judged_changes(request: ConfigRequest) -> Iterator[tuple[EntityChange, Refusal | None]]:
    """The changes, each with why it is refused whatever ZooKeeper holds."""
    named = Counter(one.entity for one in request.entities)
    for change in request.entities:
        yield change, _refuse(request, change, named[change.entity])


def _refuse(request: ConfigRequest, change: EntityChange, times: int) -> Refusal | None:
    """Why the change cannot be asked for, or not like this; its entity is named so many times."""
    kinds, operations = TAKEN[type(request)]
    if len(request.entities) > ENTITIES_MAX:
        return Refusal(ErrorCode.INVALID_REQUEST, f"more than {ENTITIES_MAX} entities at once")
    if change.kind not in kinds or any(one.operation not in operations for one in change.changes):
        return Refusal(ErrorCode.INVALID_REQUEST, f"this request is not for {change.entity}")
    if times > 1:
        return Refusal(ErrorCode.INVALID_REQUEST, f"{change.entity} is named twice")
    return refuse_change(change)


def mutation_of(
    request: ConfigRequest, znodes: Znodes, config_operation: ConfigOperation
) -> Mutation:
    """The multi that makes the change, given what was read of `paths_of` the request."""
    mutation = Mutation()
    for change, unfit in judged_changes(request):
        refusal = unfit
        if refusal is None:
            is_whole = isinstance(request, AlterConfigsRequest)
            znode = znodes[change.entity.path]
            refusal = mutation.alter(change, znode, config_operation, is_whole=is_whole)
        result = EntityResult(kind=change.kind, names=change.names)
        if refusal is not None:
            code, message = refusal
            result = EntityResult(
                kind=change.kind, names=change.names, error_code=code, message=message
            )
        mutation.results.append(result)
    mutation.complete(znodes, config_operation)
    return mutation


def _folders(paths: Iterable[str], znodes: Znodes) -> list[WriteOp]:
    """The folders that are not there yet, the highest first."""
    wanted = dict.fromkeys(folder for path in paths for folder in folders_above(path))
    missing = [one for one in wanted if znodes[one].stat is None]
    return [Create(path=one, data=b"") for one in missing if one not in {*paths}]


def _changes(found: Znode, paths: list[str]) -> bytes:
    before = parsed(parse_config_changes, found) or []
    return document_bytes(ConfigChangesDocument(changes=[*before, paths][-CHANGES_KEPT:]))


def config_as_read(znode: Znode, data: bytes) -> WriteOp:
    """The znode is written if it stands as it was read."""
    if znode.stat is None:
        return Create(path=znode.path, data=data)
    return SetData(path=znode.path, data=data, expected_version=znode.stat.version)


def _told(change: EntityChange, after: Entries) -> EntityChange:
    """The change with what it makes of each entry, whatever the operation was."""
    values = tuple(replace(one, value=after.get(one.name, "")) for one in change.changes)
    return replace(change, changes=values)
