"""`MutationQuotaKept`: what the mutation quota admits, refuses and mutes (QUOTA-001 to 006, 010).

Recomputed in fractions from what each line of the controller says of amounts and times, never from
tokens: a client may take the burst at once, and the rate gives back in the time between.

- A topic is admitted while no more than the burst is taken, and may go over it once. A request too
  old for a refusal is admitted always, and its connection is muted until no more is taken.
- Where something is admitted, the wait that is told is just that; none where it may be refused.
- A refusal finds more taken, is in a version that has a word for it, and says the least time in
  whole milliseconds after which no more is.
- The connection of an answer is muted for as long as each refusal in it says, and nothing that was
  received in that time is counted.
- Validation takes nothing, and neither does a refusal.
- The quota is that which comes first of those for the client, and clients that it tells apart have
  buckets of their own. Its rate was written, and the burst is the rate over one time in all quotas.
  A quota that is told is another one than was in force.

The rate that counts is that of now, for all the time since something was last taken. A controller
begins with nothing taken. A clock that was set back gives nothing.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby, product
from math import ceil

from fencepost.conformance.checks.config_history import config_writes
from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.ordering import is_recorded, order
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.config_store import EntityKind
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, Invariant, RefusalKind

Entity = tuple[str | None, str | None]
"""User and client-id; empty: the default; None: it does not look at that."""
_REIGNS = frozenset({Action.ELECT_CONTROLLER, Action.RESIGN_CONTROLLER})
_COUNTED = frozenset({Action.ADMIT_MUTATION, Action.REFUSE_MUTATION, Action.VALIDATE_MUTATION})
JUDGED = _REIGNS | _COUNTED | {Action.ALTER_QUOTA, RefusalKind.MUTE_CONNECTION}
_HAS_A_WORD = {"CreateTopics": 6, "CreatePartitions": 3, "DeleteTopics": 5}
"""From this version on a request can be refused."""
_NAMES = ("controller_mutation_rate", "controller_mutations_rate")
LONGEST_MS = 2**31 - 1
"""What the field holds; a rate of 0 never gives back."""


@dataclass(slots=True)
class _Bucket:
    """What one client, or some that share a quota, has taken."""

    taken: Fraction
    burst: Fraction
    counted_ms: int


@dataclass(slots=True)
class _Process:
    """One process of a broker, as far as it was controller."""

    evidence: Evidence
    written: Mapping[Entity, set[Fraction]] | None
    """Every rate that ZooKeeper has held; None where its record is missing."""
    quotas: dict[Entity, tuple[Fraction, Fraction]] = field(default_factory=dict)
    """Rate and burst of those in force."""
    buckets: dict[Entity, _Bucket] = field(default_factory=dict)
    free_at_ms: dict[int | None, int] = field(default_factory=lambda: defaultdict(int))
    """Request -> until when its connection must be muted."""
    mutes: dict[str, list[TraceEvent]] = field(default_factory=lambda: defaultdict(list))

    def read(self, event: TraceEvent) -> None:
        """Judge the next line."""
        if event.action in _REIGNS:
            self.quotas.clear()
            self.buckets.clear()
        elif event.action == Action.ALTER_QUOTA:
            self._alter(event)
        elif event.action == RefusalKind.MUTE_CONNECTION:
            self._mute(event)
        else:
            self._judge_silence(event)
            self._count(event)

    def _alter(self, event: TraceEvent) -> None:
        entity = event.user, event.client_id
        if event.mutation_rate is None or event.mutation_burst is None:
            self.quotas.pop(entity, None)
            return
        rate, burst = Fraction(event.mutation_rate), Fraction(event.mutation_burst)
        if self.quotas.get(entity) == (rate, burst):
            self.evidence.violated(f"The quota of {entity} is told as new, and was so.", event)
        if self.written is None:
            self.evidence.doubt("ZooKeeper's own record of the run is missing: no quota is known.")
        elif rate not in self.written.get(entity, set()):
            message = f"The quota of {entity} is {float(rate):g}, which was never written."
            self.evidence.violated(message, event)
        for other, (its_rate, its_burst) in self.quotas.items():
            if its_burst * rate != burst * its_rate:
                over = f"not over the same time as those of {other}"
                self.evidence.violated(f"The rate and burst of {entity} are {over}.", event)
                break
        self.quotas[entity] = rate, burst

    def _mute(self, event: TraceEvent) -> None:
        clock_ms, told_ms = event.clock_ms or 0, event.throttle_time_ms or 0
        needed_ms = self.free_at_ms.pop(event.request_number, 0) - clock_ms
        if told_ms < min(needed_ms, LONGEST_MS):
            message = f"{_client(event)} is muted for {told_ms} ms, and owes for {needed_ms} ms."
            self.evidence.violated(message, event)
        if event.connection and told_ms:
            self.mutes[event.connection].append(event)

    def _judge_silence(self, event: TraceEvent) -> None:
        """A request of the same millisecond may have been there before the answer was."""
        received_ms = event.received_ms or 0
        for mute in self.mutes.get(event.connection or "", ()):
            begin_ms = mute.clock_ms or 0
            if begin_ms < received_ms < begin_ms + (mute.throttle_time_ms or 0):
                silence = f"muted at {begin_ms} ms for {mute.throttle_time_ms} ms"
                message = f"{event.connection} is {silence}, and heard at {received_ms} ms."
                self.evidence.violated(message, mute, event)
                return

    def _count(self, event: TraceEvent) -> None:
        found = self._found(event)
        if event.action == Action.VALIDATE_MUTATION:
            return
        self.evidence.premise_count += 1
        if found is None:
            if event.action == Action.REFUSE_MUTATION:
                self.evidence.violated(f"{_client(event)} is refused, and has no quota.", event)
            return
        bucket, rate = found
        over = bucket.taken - bucket.burst
        if event.action == Action.ADMIT_MUTATION:
            self._admit(event, bucket, rate, over)
        else:
            self._refuse(event, rate, over)

    def _admit(self, event: TraceEvent, bucket: _Bucket, rate: Fraction, over: Fraction) -> None:
        partitions = event.partition_count or 0
        if over > 0 and _is_refusable(event):
            message = f"{_client(event)} is admitted {partitions} with {float(over):g} too many."
            self.evidence.violated(message, event)
        bucket.taken += partitions
        bucket.counted_ms = event.clock_ms or 0
        wait_ms = 0 if _is_refusable(event) else _wait_ms(over + partitions, rate)
        if event.throttle_time_ms not in (None, wait_ms):
            told = f"told to wait {event.throttle_time_ms} ms, where {wait_ms} ms are right"
            self.evidence.violated(f"{_client(event)} is admitted, and {told}.", event)
        self._owes(event, wait_ms)

    def _refuse(self, event: TraceEvent, rate: Fraction, over: Fraction) -> None:
        told_ms, needed_ms = event.throttle_time_ms or 0, _wait_ms(over, rate)
        if not _is_refusable(event):
            message = f"{_client(event)} is refused in version {event.api_version}."
            self.evidence.violated(message, event)
        elif over <= 0:
            message = f"{_client(event)} is refused with {float(-over):g} left of its burst."
            self.evidence.violated(message, event)
        elif told_ms != needed_ms:
            wait = f"to wait {told_ms} ms, and {needed_ms} ms suffice"
            self.evidence.violated(f"{_client(event)} is told {wait}.", event)
        self._owes(event, told_ms)

    def _owes(self, event: TraceEvent, wait_ms: int) -> None:
        number, until_ms = event.request_number, (event.clock_ms or 0) + wait_ms
        self.free_at_ms[number] = max(self.free_at_ms[number], until_ms)

    def _found(self, event: TraceEvent) -> tuple[_Bucket, Fraction] | None:
        """The bucket of the client as it is now, and its rate; None without a quota."""
        client: Entity = event.user or "", event.client_id or ""
        order_ = product((client[0], "", None), (client[1], "", None))
        applied = next((one for one in order_ if one in self.quotas), None)
        if applied is None:
            return None
        rate, burst = self.quotas[applied]
        user, client_id = (
            None if looked_at is None else own
            for looked_at, own in zip(applied, client, strict=True)
        )
        clock_ms = event.clock_ms or 0
        before = self.buckets.get((user, client_id), _Bucket(Fraction(0), burst, clock_ms))
        given = rate * max(clock_ms - before.counted_ms, 0) / 1000
        taken = max(before.taken + burst - before.burst - given, Fraction(0))
        now = _Bucket(taken, burst, clock_ms)
        if event.action == Action.ADMIT_MUTATION:
            self.buckets[user, client_id] = now
        return now, rate


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge a whole run; the premise counts what was admitted or refused."""
    evidence = Evidence(invariant=Invariant.MUTATION_QUOTA_KEPT)
    lines = order(event for event in events if event.action in JUDGED)
    written = _written(events) if lines and is_recorded(events) else None
    for _, some in groupby(lines, key=lambda event: (event.node, event.incarnation)):
        process = _Process(evidence, written)
        for event in some:
            process.read(event)
    return evidence.result()


def _written(events: Sequence[TraceEvent]) -> Mapping[Entity, set[Fraction]]:
    rates: dict[Entity, set[Fraction]] = defaultdict(set)
    for write in config_writes(events):
        names = write.entity.names
        match write.entity.kind:
            case EntityKind.USER:
                entity: Entity = names[0], None
            case EntityKind.CLIENT:
                entity = None, names[0]
            case EntityKind.USER_CLIENT:
                entity = names[0], names[1]
            case _:
                continue
        rates[entity] |= set(_rates(write.after))
    return rates


def _rates(entries: Mapping[str, str]) -> Iterator[Fraction]:
    """Those that can be read; by hand anything may be written."""
    for name in _NAMES:
        try:
            yield Fraction(str(float(entries[name])))
        except (KeyError, ValueError):
            continue


def _is_refusable(event: TraceEvent) -> bool:
    return (event.api_version or 0) >= _HAS_A_WORD.get(event.method or "", 0)


def _wait_ms(over: Fraction, rate: Fraction) -> int:
    """The least time, in whole milliseconds, in which the rate gives back what is over."""
    if over <= 0:
        return 0
    return min(ceil(over * 1000 / rate), LONGEST_MS) if rate else LONGEST_MS


def _client(event: TraceEvent) -> str:
    return f"{event.user}/{event.client_id}" if event.client_id else str(event.user)
