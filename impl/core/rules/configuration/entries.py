"""What a change makes of entries, and which changes are refused: pure rules of the configuration.

Any name is taken for a topic or a broker: what has no meaning yet has no effect. The values of the
names that have one are judged here, so that no broker reads what it cannot use.
"""

from collections.abc import Callable, Mapping, Sequence

from fencepost.impl.core.rules.security.acls import Operation, Pattern, ResourceType, member_of
from fencepost.impl.core.types.config_messages import EntityChange, EntryChange, EntryOperation
from fencepost.impl.core.types.refusals import Refusal
from fencepost.spec.config_store import NAME_COUNTS, QUOTA_KINDS, EntityKind, acl_of
from fencepost.spec.vocabulary import ErrorCode
from fencepost.spec.znodes import TOPIC_NAME

Entries = Mapping[str, str]
MUTATION_RATE_NAMES = ("controller_mutation_rate", "controller_mutations_rate")
"""Kafka's, and that of KIP-599's text, which is taken too (QUOTA-005)."""
QUOTA_NAMES = ("consumer_byte_rate", *MUTATION_RATE_NAMES, "producer_byte_rate")
"""Each a number above zero, in units per second."""
ENTRIES_MAX = 1000
"""Of one entity: its document must fit into a znode."""
TEXT_MAX = 1000
PERMISSIONS = ("ALLOW", "DENY")


def changed(entries: Entries, changes: Sequence[EntryChange], *, is_whole: bool) -> dict[str, str]:
    """The entries after the changes; with `is_whole` nothing is left of those before."""
    after = {} if is_whole else dict(entries)
    for change in changes:
        match change.operation:
            case EntryOperation.SET:
                after[change.name] = change.value
            case EntryOperation.DELETE:
                after.pop(change.name, None)
            case EntryOperation.APPEND:
                listed = _listed(after.get(change.name, ""))
                added = [one for one in _listed(change.value) if one not in listed]
                after[change.name] = ",".join(listed + added)
            case EntryOperation.SUBTRACT:
                gone = _listed(change.value)
                kept = [one for one in _listed(after.get(change.name, "")) if one not in gone]
                after[change.name] = ",".join(kept)
    return after


def refuse_change(change: EntityChange) -> Refusal | None:
    """Why the entity or one of its changes is none that can be made."""
    kind, names = change.kind, change.names
    if len(names) != NAME_COUNTS[kind] or any(len(one) > TEXT_MAX or "\0" in one for one in names):
        return Refusal(ErrorCode.INVALID_REQUEST, f"{change.entity} is no name of its kind")
    if kind is EntityKind.TOPIC and not TOPIC_NAME.fullmatch(names[0]):
        return Refusal(ErrorCode.INVALID_TOPIC, f"{names[0]!r} is no name of a topic")
    if kind is EntityKind.BROKER and names[0] and not names[0].isdecimal():
        return Refusal(ErrorCode.INVALID_REQUEST, f"{names[0]!r} is no id of a broker")
    if kind is EntityKind.ACL and not _is_resource(names):
        return Refusal(ErrorCode.INVALID_REQUEST, f"{change.entity} is no resource")
    mentioned = [one.name for one in change.changes]
    if len({*mentioned}) != len(mentioned) or len(mentioned) > ENTRIES_MAX:
        return Refusal(ErrorCode.INVALID_REQUEST, f"{change.entity}: an entry is named twice")
    for one in change.changes:
        reason = _misfit(kind, one)
        if reason:
            return Refusal(ErrorCode.INVALID_CONFIG, f"{change.entity}: {reason}")
    return None


def _misfit(kind: EntityKind, change: EntryChange) -> str:
    """What is wrong with the change of an entry; empty when it is fine."""
    name, value = change.name, change.value
    if not name or len(name) > TEXT_MAX or len(value) > TEXT_MAX:
        return f"a name or value has no or more than {TEXT_MAX} characters"
    if kind in QUOTA_KINDS and name not in QUOTA_NAMES:
        return f"{name!r} is no quota; there are {', '.join(QUOTA_NAMES)}"
    if kind is EntityKind.ACL:
        acl = acl_of(name)
        if acl is None or acl.permission not in PERMISSIONS or not all(acl):
            return f"{name!r} is no ACL"
        is_operation = member_of(Operation, acl.operation) is not None
        return "" if is_operation else f"{acl.operation!r} is no operation of an ACL"
    if change.operation is EntryOperation.DELETE:
        return ""
    known = _VALUES.get((kind, name)) or (_is_rate if kind in QUOTA_KINDS else None)
    return "" if known is None or known(value) else f"{name}={value!r} cannot be"


def _is_resource(names: Sequence[str]) -> bool:
    pattern, resource_type, name = names
    are_known = member_of(Pattern, pattern) and member_of(ResourceType, resource_type)
    return are_known is not None and bool(name)


def _listed(value: str) -> list[str]:
    return [one for one in value.split(",") if one]


def _is_rate(value: str) -> bool:
    try:
        return 0 < float(value) < float("inf")
    except ValueError:
        return False


def _is_count(value: str) -> bool:
    return value.isdecimal() and int(value) > 0


def _is_flag(value: str) -> bool:
    return value in ("true", "false")


_VALUES: Mapping[tuple[EntityKind, str], Callable[[str], bool]] = {
    (EntityKind.TOPIC, "min.insync.replicas"): _is_count,
    (EntityKind.TOPIC, "unclean.leader.election.enable"): _is_flag,
    (EntityKind.BROKER, "min.insync.replicas"): _is_count,
    (EntityKind.BROKER, "unclean.leader.election.enable"): _is_flag,
}
