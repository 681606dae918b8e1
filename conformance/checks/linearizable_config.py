"""`LinearizableConfig`: the entries of an entity are registers under the controller (FWD-004, 007).

Judged by what clients asked and were told, and by ZooKeeper's own record. Every value is set by one
attempt, so that a write tells which attempt it is.

- A change that was answered as made was made, one that was refused was not, and none twice.
- An entry that no client wanted gone stays: no writer puts back what it read too early.
- What a broker describes was written, and what it has told to be newer is not followed by older.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from fencepost.conformance.checks.config_history import (
    CLIENT_ALTERS,
    CLIENT_DESCRIBES,
    ConfigWrite,
    config_writes,
)
from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Invariant, Outcome

JUDGED = frozenset({CLIENT_ALTERS, CLIENT_DESCRIBES})
_Setting = tuple[str, str]
"""Path, and `name=value`."""
_Settings = Mapping[_Setting, Sequence[ConfigWrite]]


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge a whole run; the premise counts answered changes, and entries that were described."""
    evidence = Evidence(invariant=Invariant.LINEARIZABLE_CONFIG)
    writes = config_writes(events)
    settings = _settings(writes)
    asked = [one for one in events if one.action == CLIENT_ALTERS and one.kind is Kind.INVOKE]
    for event in events:
        if event.kind is Kind.COMPLETE and event.action == CLIENT_ALTERS:
            _judge_alteration(event, settings, evidence)
    for event in asked:
        _judge_once(event, settings, evidence)
    _judge_losses(writes, asked, evidence)
    _judge_descriptions(events, settings, evidence)
    return evidence.result()


def _settings(writes: Iterable[ConfigWrite]) -> _Settings:
    """Which writes gave an entry the value."""
    found: dict[_Setting, list[ConfigWrite]] = defaultdict(list)
    for write in writes:
        for name, value in write.changed():
            if value is not None:
                found[write.path, f"{name}={value}"].append(write)
    return found


def _judge_alteration(event: TraceEvent, settings: _Settings, evidence: Evidence) -> None:
    """What the client was told is so."""
    for value in event.values or ():
        made = settings.get((event.path or "", value), ())
        where = f"{event.path} {value}"
        if event.outcome is Outcome.OK:
            evidence.premise_count += 1
            if not made:
                evidence.violated(f"{where} was answered as made, and never was.", event)
        elif event.outcome is Outcome.DEFINITE_ERROR and made:
            message = f"{where} was refused with {event.error_code}, and is made."
            evidence.violated(message, event, made[0].event)


def _judge_once(event: TraceEvent, settings: _Settings, evidence: Evidence) -> None:
    """No attempt has its effect twice."""
    for value in event.values or ():
        made = settings.get((event.path or "", value), ())
        if len(made) > 1:
            zxids = ", ".join(str(one.event.zxid) for one in made)
            message = f"{event.path} {value} was asked for once, and made at zxids {zxids}."
            evidence.violated(message, event, *(one.event for one in made))


def _judge_losses(
    writes: Iterable[ConfigWrite], asked: Iterable[TraceEvent], evidence: Evidence
) -> None:
    """An entry goes when a client has asked for that: a change to an empty value."""
    wanted = {(event.path, value) for event in asked for value in event.values or ()}
    for write in writes:
        for name, value in write.changed():
            if value is None and (write.path, f"{name}=") not in wanted:
                message = f"{write.path}: {name} is gone, and no client asked for that."
                evidence.violated(message, write.event)


def _judge_descriptions(
    events: Iterable[TraceEvent], settings: _Settings, evidence: Evidence
) -> None:
    """One broker tells what was written, in its order, to clients that ask one after the other."""
    by_register: dict[tuple[int | None, str, str], list[tuple[int, TraceEvent]]] = defaultdict(list)
    for event in events:
        is_told = event.kind is Kind.COMPLETE and event.outcome is Outcome.OK
        if event.action != CLIENT_DESCRIBES or not is_told:
            continue
        for value in event.values or ():
            evidence.premise_count += 1
            made = settings.get((event.path or "", value), ())
            if not made:
                evidence.violated(f"{event.path} {value} was described, and never set.", event)
                continue
            key = event.broker_id, event.path or "", value.partition("=")[0]
            by_register[key].append((made[-1].event.zxid or 0, event))
    for (broker_id, path, name), told in by_register.items():
        _judge_order(f"{path}: broker {broker_id} tells of {name}", told, evidence)


def _judge_order(what: str, told: list[tuple[int, TraceEvent]], evidence: Evidence) -> None:
    """Of two descriptions that do not overlap, the later one is not of an older value."""
    ended = sorted(told, key=lambda one: one[1].mono_ns)
    newest: tuple[int, TraceEvent] | None = None
    place = 0
    for zxid, event in sorted(told, key=lambda one: one[1].inv_ns or 0):
        while place < len(ended) and ended[place][1].mono_ns < (event.inv_ns or 0):
            newest = max(newest or ended[place], ended[place], key=lambda one: one[0])
            place += 1
        if newest is not None and zxid < newest[0]:
            message = f"{what} as of zxid {zxid}, and before as of {newest[0]}."
            evidence.violated(message, newest[1], event)
