"""What happened in a run, in order: faults and their targets, elections, what clients saw.

Everything is told from the bounded rows of `fencepost.reports.analysis.tenures`: a run with many
faults is cut, never the number of records.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from fencepost.reports.analysis.metrics import Occurrence
from fencepost.reports.analysis.tenures import BINS, Leadership, SharedRow, Tenure, Turn, Writes
from fencepost.reports.page.words import count, listing, seconds
from fencepost.spec.trace import Phase
from fencepost.spec.vocabulary import Action

MOMENTS_SHOWN = 120
NS_PER_S = 1e9
INSTANT_NS = 1_000_000
"""What is nearer to each other happened at once: times are shown in milliseconds."""
NOTABLE_NS = 200_000_000
"""A partition that took no write for less is not told of."""


class Voice(StrEnum):
    """The subject of a sentence."""

    FAULT = "fault"
    CLUSTER = "cluster"
    CLIENTS = "clients"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Moment:
    """One sentence, and when it became true."""

    at_ns: int
    """Since the run's first event."""
    voice: Voice
    text: str


def moments(
    faults: Sequence[Occurrence], span_ns: tuple[int, int], leadership: Leadership
) -> tuple[Moment, ...]:
    """The run of one folder in order, told around its faults; empty without any."""
    if not faults:
        return ()
    folder = faults[0].folder
    shared = [row for row in leadership.shared if row.folder == folder]
    tenures = [row for row in leadership.tenures if row.folder == folder]
    writes = [row for row in leadership.writes if row.folder == folder]
    turns = [row for row in leadership.turns if row.folder == folder]
    told = [
        *(moment for fault in faults for moment in _of_fault(fault, shared, tenures)),
        *(moment for fault in faults for moment in _seen_by_clients(fault, span_ns, writes)),
        *_of_controllers(shared),
        *_of_tenures(tenures),
        *_of_turns(turns),
    ]
    end_ns = _end(span_ns, shared, writes)
    kept = [moment for moment in told if moment[0] <= end_ns]
    if len(kept) < len(told):
        kept.append((end_ns, Voice.CLIENTS, "The clients are done; next the brokers are ended."))
    start_ns = span_ns[0]
    return tuple(
        sorted(
            Moment(at_ns=at_ns - start_ns, voice=voice, text=text) for at_ns, voice, text in kept
        )
    )


def _end(span_ns: tuple[int, int], shared: Sequence[SharedRow], writes: Sequence[Writes]) -> int:
    """When neither clients nor faults had anything more to do, to a pixel of the picture."""
    first_ns, last_ns = span_ns
    columns = max((row.columns[-1] + 1 for row in writes), default=0)
    last_phase_ns = max(row.mono_ns for row in shared if row.phase is not None)
    return max(first_ns + columns * (last_ns - first_ns) // BINS, last_phase_ns)


_Told = tuple[int, Voice, str]


def _of_fault(
    fault: Occurrence, shared: Sequence[SharedRow], tenures: Sequence[Tenure]
) -> Iterable[_Told]:
    """Each phase in a sentence; those of one instant, as in the simulator, are in one."""
    begins = f"{fault.fault} begins{_victim(fault, tenures)}"
    own = [row for row in shared if row.fault_id == fault.fault_id]
    at = {row.phase: row.mono_ns for row in own}
    is_at_once = _is_instant(fault.start_ns, at.get(Phase.ACTIVE))
    if not is_at_once:
        yield fault.start_ns, Voice.FAULT, f"{begins}."
    words = {
        Phase.ACTIVE: "has taken effect",
        Phase.HEALING: "is being undone",
        Phase.HEALED: "is over",
        Phase.FAILED: "could not be undone",
    }
    for row in own:
        phase = next((phase for phase in words if row.phase == phase), None)
        if phase is None:
            continue
        if phase is Phase.HEALING and _is_instant(row.mono_ns, at.get(Phase.HEALED)):
            continue
        subject = f"{begins} and" if is_at_once and phase is Phase.ACTIVE else fault.fault
        proof = f": {row.says}" if row.says else ""
        yield row.mono_ns, Voice.FAULT, f"{subject} {words[phase]}{proof}."


def _is_instant(from_ns: int, to_ns: int | None) -> bool:
    """True when the report shows one time for both."""
    return to_ns is not None and to_ns - from_ns < INSTANT_NS


def _victim(fault: Occurrence, tenures: Sequence[Tenure]) -> str:
    """The broker that a fault strikes, and what it led then."""
    if fault.broker_id < 0:
        return ""
    last: dict[tuple[str, int], Tenure] = {}
    for tenure in tenures:
        if tenure.leading_ns is not None and tenure.leading_ns <= fault.start_ns:
            last[tenure.topic, tenure.partition] = tenure
    led = [f"{t.topic}/{t.partition}" for t in last.values() if t.leader == fault.broker_id]
    roles = ["the controller"] * fault.was_controller
    roles += [f"leader of {listing(led[:4])}{' and others' if led[4:] else ''}"] * bool(led)
    return f" on broker {fault.broker_id}" + (f", {listing(roles)}" if roles else "")


def _of_controllers(shared: Sequence[SharedRow]) -> Iterable[_Told]:
    seen: list[int] | None = None
    for row in shared:
        if row.action == Action.ELECT_CONTROLLER:
            text = f"Broker {row.controller_id} becomes the controller."
            yield row.mono_ns, Voice.CLUSTER, text
        if row.action == Action.DETECT_BROKER_CHANGE and row.live_brokers != seen:
            seen = row.live_brokers
            alive = listing([str(broker) for broker in seen or ()]) or "no broker"
            yield row.mono_ns, Voice.CLUSTER, f"Alive, as the controller sees it: {alive}."


def _of_tenures(tenures: Sequence[Tenure]) -> Iterable[_Told]:
    """The leader of each partition, and when clients were served again; `tenures` are in order."""
    led: dict[tuple[str, int, int], int | None] = {}
    served: dict[tuple[str, int, int], int] = {}
    for tenure in tenures:
        place = (tenure.topic, tenure.partition, tenure.partition_incarnation)
        name, old = f"{tenure.topic}/{tenure.partition}", led.get(place)
        if tenure.leading_ns is not None:
            instead = "" if old in (None, tenure.leader) else f" instead of broker {old}"
            text = f"Broker {tenure.leader} leads {name} in epoch {tenure.leader_epoch}{instead}."
            yield tenure.leading_ns, Voice.CLUSTER, text
            led[place] = tenure.leader
        if tenure.first_acknowledged_ns is None or tenure.last_acknowledged_ns is None:
            continue
        gap_ns = tenure.first_acknowledged_ns - served.get(place, tenure.first_acknowledged_ns)
        if gap_ns >= NOTABLE_NS:
            waited = seconds(gap_ns / NS_PER_S)
            text = f"{name} takes writes again, {waited} after the last one."
            yield tenure.first_acknowledged_ns, Voice.CLIENTS, text
        served[place] = tenure.last_acknowledged_ns


def _of_turns(turns: Sequence[Turn]) -> Iterable[_Told]:
    for turn in turns:
        name, broker = f"{turn.topic}/{turn.partition}", f"Broker {turn.broker_id}"
        if turn.action == Action.ADOPT_ISR:
            members = listing([str(member) for member in turn.isr])
            yield turn.mono_ns, Voice.CLUSTER, f"{broker} has a new ISR for {name}: {members}."
        elif turn.action == Action.TRUNCATE_LOG:
            text = f"{broker} truncates its log of {name} to end at offset {turn.offset}."
            yield turn.mono_ns, Voice.CLUSTER, text
        else:
            text = f"{broker} learns that it no longer leads {name}."
            yield turn.mono_ns, Voice.CLUSTER, text


def _seen_by_clients(
    fault: Occurrence, span_ns: tuple[int, int], writes: Sequence[Writes]
) -> Iterable[_Told]:
    """What was answered between the fault's begin and its end, to a pixel of the picture."""
    first_ns, last_ns = span_ns
    end_ns = last_ns if fault.end_ns is None else fault.end_ns
    length_ns = max(1, last_ns - first_ns)
    begin, end = ((ns - first_ns) * BINS // length_ns for ns in (fault.start_ns, end_ns))
    during = [(row, slice(*_places(row.columns, begin, end))) for row in writes]
    acknowledged = sum(sum(row.records[own]) for row, own in during)
    unanswered = sum(sum(row.unanswered[own]) for row, own in during)
    words = [f"{count(acknowledged, 'record')} acknowledged"]
    words += [f"{count(unanswered, 'write')} left without an answer"] * bool(unanswered)
    yield end_ns, Voice.CLIENTS, f"During {fault.fault}: {listing(words)}."


def _places(columns: Sequence[int], begin: int, end: int) -> tuple[int, int]:
    """Where those from `begin` to `end`, both included, begin and end among ascending columns."""
    return bisect_left(columns, begin), bisect_right(columns, end)
