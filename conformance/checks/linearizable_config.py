"""`LinearizableConfig`: the entries of an entity are registers under the controller (FWD-004, 007).

Judged by what clients asked and were told, and by ZooKeeper's own record. Every value is set by one
attempt, so that a write tells which attempt it is.

- A change that was answered as made was made, one that was refused was not, and none twice. What
  a controller tells as made is in the transaction that it names.
- A client has at most as many delegation tokens as it has asked for and was not refused. One goes
  when a client wants that, or when it is over by the time that the controller tells.
- An entry that no client wanted gone stays: no writer puts back what it read too early. Nor has it
  a value that no client asked for, but from its creation on.
- What a broker describes was written, and what it has told to be newer is not followed by older.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from fencepost.conformance.checks.config_history import ConfigWrite, config_writes
from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.log_history import Told, after_highest
from fencepost.conformance.checks.ordering import is_recorded
from fencepost.conformance.verdict import CheckResult
from fencepost.fault_injection.workload.config_operations import (
    ALTER_CONFIGS,
    DESCRIBE_CONFIGS,
    TOKENS,
)
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Action, Invariant, Outcome

JUDGED = frozenset({ALTER_CONFIGS, DESCRIBE_CONFIGS, Action.APPLY_MUTATION})
_Setting = tuple[str, str]
"""Path, and `name=value`."""
_Settings = Mapping[_Setting, Sequence[ConfigWrite]]


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge a whole run; the premise counts answered changes, and entries that were described."""
    evidence = Evidence(invariant=Invariant.LINEARIZABLE_CONFIG)
    if not is_recorded(events):
        return evidence.result()
    writes = config_writes(events)
    settings = _settings(writes)
    asked = [one for one in events if one.action == ALTER_CONFIGS and one.kind is Kind.INVOKE]
    attempts = Counter((one.path, value) for one in asked for value in one.values or ())
    for event in events:
        if event.action == ALTER_CONFIGS:
            _judge_alteration(event, settings, attempts, evidence)
    for event in asked:
        _judge_once(event, settings, evidence)
    _judge_creations(events, writes, evidence)
    _judge_applications(events, writes, evidence)
    _judge_changes(writes, asked, evidence)
    _judge_removals(events, writes, asked, evidence)
    _judge_descriptions(events, settings, evidence)
    return evidence.result()


def _settings(writes: Iterable[ConfigWrite]) -> _Settings:
    """Which writes gave an entry the value, or took it away."""
    found: dict[_Setting, list[ConfigWrite]] = defaultdict(list)
    for write in writes:
        for entry in write.changed():
            found[write.path, entry].append(write)
    return found


def _judge_alteration(
    event: TraceEvent,
    settings: _Settings,
    attempts: Mapping[tuple[str | None, str], int],
    evidence: Evidence,
) -> None:
    """What the client was told is so; what has gone, another attempt may have taken, or time."""
    for value in event.values or ():
        made = settings.get((event.path or "", value), ())
        where = f"{event.path} {value}"
        if event.outcome is Outcome.OK:
            evidence.premise_count += 1
            if not made and not _is_idle(event.path or "", value, settings):
                evidence.violated(f"{where} was answered as made, and never was.", event)
        elif event.outcome is Outcome.DEFINITE_ERROR and made:
            is_of_token = _is_token(event.path or "")
            if value.endswith("=") and (is_of_token or attempts[event.path, value] > 1):
                continue
            message = f"{where} was refused with {event.error_code}, and is made."
            evidence.violated(message, event, made[0].event)


def _is_idle(path: str, value: str, settings: _Settings) -> bool:
    """It takes away what never was there."""
    name, _, rest = value.partition("=")
    known = (entry for at, entry in settings if at == path)
    return not rest and all(entry.partition("=")[0] != name for entry in known)


def _judge_once(event: TraceEvent, settings: _Settings, evidence: Evidence) -> None:
    """No attempt has its effect twice; an entry may go more than once."""
    for value in event.values or ():
        made = settings.get((event.path or "", value), ())
        if len(made) > 1 and not value.endswith("="):
            zxids = ", ".join(str(one.event.zxid) for one in made)
            message = f"{event.path} {value} was asked for once, and made at zxids {zxids}."
            evidence.violated(message, event, *(one.event for one in made))


def _judge_creations(
    events: Iterable[TraceEvent], writes: Iterable[ConfigWrite], evidence: Evidence
) -> None:
    """No client has more tokens than it has asked for; a request that was refused makes none."""
    asked: dict[str, list[TraceEvent]] = defaultdict(list)
    invoked: dict[tuple[str, int | None], TraceEvent] = {}
    for event in events:
        if event.action != ALTER_CONFIGS:
            continue
        if event.kind is Kind.INVOKE and event.path == TOKENS:
            invoked[event.node, event.op_id] = event
        elif event.outcome is Outcome.DEFINITE_ERROR:
            invoked.pop((event.node, event.op_id), None)
    for event in invoked.values():
        for owner in event.values or ():
            asked[owner].append(event)
    known = {value for event in events if event.path == TOKENS for value in event.values or ()}
    for owner in sorted(known):
        made = [write.event for write in writes if _is_made_for(owner, write)]
        if len(made) > len(asked[owner]):
            wanted = f"{len(asked[owner])} of its requests may have made one"
            message = f"{len(made)} tokens have {owner}, and {wanted}."
            evidence.violated(message, *asked[owner], *made)


def _is_made_for(owner: str, write: ConfigWrite) -> bool:
    return _is_token(write.path) and not write.before and owner in write.changed()


def _judge_applications(
    events: Iterable[TraceEvent], writes: Iterable[ConfigWrite], evidence: Evidence
) -> None:
    """What a controller says that it made is there after the transaction that it names."""
    stored = {(write.path, write.event.zxid): write.after for write in writes}
    for event in events:
        if event.action != Action.APPLY_MUTATION:
            continue
        for entry in event.values or ():
            name, _, value = entry.partition("=")
            if stored.get((event.path or "", event.zxid), {}).get(name, "") != value:
                message = f"{event.path} {entry} is told as made at zxid {event.zxid}, and is not."
                evidence.violated(message, event)


def _judge_changes(
    writes: Iterable[ConfigWrite], asked: Iterable[TraceEvent], evidence: Evidence
) -> None:
    """An entry goes, or is set where clients set any, when a client has asked for that."""
    wanted = {(event.path, value) for event in asked for value in event.values or ()}
    paths = {path for path, value in wanted if not value.endswith("=")}
    for write in writes:
        if _is_token(write.path) and not write.after:
            continue
        is_set_by_clients = write.path in paths and write.event.action == "SetData"
        for entry in write.changed():
            is_gone = entry.endswith("=") and entry[:-1] not in write.after
            if (write.path, entry) not in wanted and (is_gone or is_set_by_clients):
                name, _, value = entry.partition("=")
                what = "gone" if is_gone else f"set to {value}"
                message = f"{write.path}: {name} is {what}, and no client asked for that."
                evidence.violated(message, write.event)


def _judge_removals(
    events: Iterable[TraceEvent],
    writes: Iterable[ConfigWrite],
    asked: Iterable[TraceEvent],
    evidence: Evidence,
) -> None:
    """A token goes when a client has asked for that, or when the controller tells it is over.

    A controller that dies with its write tells nothing.
    """
    told = {(e.path, e.zxid): e for e in events if e.action == Action.APPLY_MUTATION}
    ended = {one.path for one in asked for value in one.values or () if value.endswith("=")}
    for write in writes:
        line = told.get((write.path, write.event.zxid))
        if line is None or write.after or not _is_token(write.path):
            continue
        evidence.premise_count += 1
        if line.clock_ms is None and write.path not in ended:
            message = f"{write.path} is removed, and no client asked for that."
            evidence.violated(message, line, write.event)
        elif line.clock_ms is not None and line.clock_ms < _over_ms(write):
            message = f"{write.path} is removed at {line.clock_ms}, and lives to {_over_ms(write)}."
            evidence.violated(message, line, write.event)


def _over_ms(write: ConfigWrite) -> int:
    """When the token is over; what cannot be read has no end."""
    try:
        return min(int(write.before[name]) for name in ("expires_ms", "max_ms"))
    except (KeyError, ValueError):
        return sys.maxsize


def _is_token(path: str) -> bool:
    return path.rpartition("/")[0] == TOKENS


def _judge_descriptions(
    events: Iterable[TraceEvent], settings: _Settings, evidence: Evidence
) -> None:
    """One broker tells what was written, in its order, to clients that ask one after the other."""
    by_register: dict[tuple[int | None, str | None, str], list[Told]] = defaultdict(list)
    for event in events:
        if event.action != DESCRIBE_CONFIGS or event.outcome is not Outcome.OK:
            continue
        for value in event.values or ():
            evidence.premise_count += 1
            made = settings.get((event.path or "", value), ())
            if not made:
                evidence.violated(f"{event.path} {value} was described, and never set.", event)
                continue
            key = event.broker_id, event.path, value.partition("=")[0]
            by_register[key].append((made[-1].event.zxid or 0, event))
    for (broker_id, path, name), told in by_register.items():
        for (newest, before), (zxid, event) in after_highest(told):
            if zxid < newest:
                message = f"{path}: broker {broker_id} tells of {name} as of zxid {zxid}"
                evidence.violated(f"{message}, and before as of {newest}.", before, event)
