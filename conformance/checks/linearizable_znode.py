"""`LinearizableZnode`: LeaderAndISR is a compare-and-set register (ZK-003, 004, 006; FAIL-006).

ZooKeeper's own lines are the ground truth of what was written. Per path and creation:

- Z0 versions are dense: a creation has 0, each write one more than the write before it;
- Z1 an acknowledged write is there with the version, data and session that the answer names;
- Z2 it had expected the version before it, so an unconditional write (-1) is a violation;
- Z3 each version has one writer: an acknowledged write, else an indefinite one of that session,
  data and expected version, which is hereby settled; a refused write never took effect;
- Z4 a read answers the data that its version has, and a command that a broker obeys names the
  leader and epoch that its version has: what is sent was published;
- Z5 versions respect real time (`monotone_counter`): a write invoked after version v was proven
  makes a later one.

A read of an older version is allowed to another session, since a ZooKeeper server may lag, and not
to a session that has proven a newer one (Z6). A refusal for a bad version claims nothing here: in
a multi it may speak of another znode. Stamps of brokers are compared as those of ZooKeeper's
clients on one host.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fencepost.conformance.checks.evidence import Evidence, milliseconds
from fencepost.conformance.checks.log_history import invoked_ns, known
from fencepost.conformance.checks.monotone_counter import UNBOUNDED, Claim, find_violation
from fencepost.conformance.checks.ordering import by_zxid, partition_of_event
from fencepost.conformance.checks.trace_dialect import SPEC, TraceDialect
from fencepost.conformance.checks.znode_history import document_of
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Action, Invariant, Outcome

_COMMANDS = frozenset({Action.BECOME_LEADER, Action.BECOME_FOLLOWER})


@dataclass(slots=True, kw_only=True)
class _Operations:
    """What brokers asked of the znode, by how it ended."""

    written: list[TraceEvent] = field(default_factory=list)
    refused: list[TraceEvent] = field(default_factory=list)
    unsettled: list[TraceEvent] = field(default_factory=list)
    read: list[TraceEvent] = field(default_factory=list)
    obeyed: list[TraceEvent] = field(default_factory=list)
    """Commands of a controller that a broker followed."""


@dataclass(slots=True, kw_only=True)
class _Register:
    """One creation of the znode: its writes by ZooKeeper's own record, and their authors."""

    last: TraceEvent
    lines: dict[int, TraceEvent] = field(default_factory=dict)
    """Version -> the line that stored it; versions that repeat are a violation by themselves."""
    authors: dict[int, TraceEvent] = field(default_factory=dict)
    """Version -> the operation that wrote it."""

    def store(self, line: TraceEvent) -> None:
        """Add the next line of ZooKeeper's record."""
        self.last = line
        self.lines.setdefault(_version(line), line)

    def holds(self, read: TraceEvent) -> bool:
        """True when the version that `read` answered has the data that it answered."""
        line = self.lines.get(_version(read))
        return line is not None and line.data == read.data


def check(events: Sequence[TraceEvent], dialect: TraceDialect = SPEC) -> CheckResult:
    """Judge the znode of one partition; the premise counts acknowledged writes.

    Where brokers do not tell of their writes, it counts the commands that they obeyed.
    """
    evidence = Evidence(invariant=Invariant.LINEARIZABLE_ZNODE)
    operations = _operations(events)
    told = operations.written if dialect.tells_writes else operations.obeyed
    evidence.premise_count = len(told)
    for write in operations.written:
        _check_condition(write, evidence)
    lines = [line for line in by_zxid(events) if partition_of_event(line) is not None]
    registers = _registers(lines, evidence)
    if not registers:
        _judge_without_record(operations, evidence)
        if told:
            evidence.doubt(
                "ZooKeeper's own record of the run is missing: its writes cannot be compared."
            )
        return evidence.result()
    for write in operations.written:
        _check_acknowledged(write, registers, evidence)
    if dialect.tells_writes:
        for register in registers:
            _settle(register, operations, evidence)
    for read in operations.read:
        _check_read(read, registers, evidence)
    for command in operations.obeyed:
        _check_command(command, registers, evidence)
    for register in registers:
        _check_order(register, _reads_of(register, registers, operations.read), evidence)
    return evidence.result()


def _operations(events: Iterable[TraceEvent]) -> _Operations:
    operations = _Operations()
    invoked: dict[tuple[str, int, int | None], TraceEvent] = {}
    for event in events:
        key = event.node, event.incarnation, event.op_id
        if event.action == "ReadLeaderAndIsr" and event.outcome is Outcome.OK:
            operations.read.append(event)
        elif event.action in _COMMANDS:
            operations.obeyed.append(event)
        if event.action != "WriteLeaderAndIsr":
            continue
        if event.kind is Kind.INVOKE:
            invoked.setdefault(key, event)
        else:
            invoked[key] = event
    for event in invoked.values():
        if event.outcome is Outcome.OK:
            operations.written.append(event)
        elif event.outcome is Outcome.DEFINITE_ERROR:
            operations.refused.append(event)
        else:
            operations.unsettled.append(event)
    return operations


def _check_condition(write: TraceEvent, evidence: Evidence) -> None:
    """Z2; a creation expects -1 and has version 0."""
    expected, version = _expected(write), _version(write)
    if version == expected + 1:
        return
    rule = "was unconditional" if expected == -1 else f"expected version {expected}"
    evidence.violated(f"The write that became version {version} {rule}.", write)


def _expected(write: TraceEvent) -> int:
    return known(write.expected_version, -1)


def _version(event: TraceEvent) -> int:
    return known(event.znode_version, -1)


def _registers(lines: Iterable[TraceEvent], evidence: Evidence) -> list[_Register]:
    """Z0."""
    registers: list[_Register] = []
    alive = False
    for line in lines:
        if line.action == "Delete":
            alive = False
        elif line.action == "Create" and not alive:
            registers.append(_Register(last=line))
            alive = True
            _check_dense(-1, None, line, evidence)
            registers[-1].store(line)
        elif alive:
            before = registers[-1].last
            _check_dense(_version(before), before, line, evidence)
            registers[-1].store(line)
        else:
            evidence.violated("A znode that does not exist was written.", line)
    return registers


def _check_dense(
    version: int, before: TraceEvent | None, line: TraceEvent, evidence: Evidence
) -> None:
    if _version(line) != version + 1:
        message = f"ZooKeeper stored version {_version(line)} after version {version}."
        evidence.violated(message, before, line)


def _judge_without_record(operations: _Operations, evidence: Evidence) -> None:
    """Z3 among acknowledgements: all that can be said without ZooKeeper's own lines."""
    first: dict[tuple[int, int | None], TraceEvent] = {}
    for write in operations.written:
        other = first.setdefault((_version(write), write.zxid), write)
        if other is not write:
            message = f"Version {_version(write)} was acknowledged to two writes."
            evidence.violated(message, other, write)


def _check_acknowledged(
    write: TraceEvent, registers: Iterable[_Register], evidence: Evidence
) -> None:
    """Z1 and, among acknowledgements, Z3."""
    version, other = _version(write), None
    for register in registers:
        line = register.lines.get(version)
        if line is None or not _is_answer_for(write, line):
            continue
        other = register.authors.setdefault(version, write)
        if other is write:
            return
    if other is None:
        message = f"Version {version} was acknowledged, but ZooKeeper did not store it so."
    else:
        message = f"Version {version} was acknowledged to two writes."
    evidence.violated(message, other, write)


def _is_answer_for(write: TraceEvent, line: TraceEvent) -> bool:
    """True when `line` is what the acknowledgement of `write` says; the zxid where it has one."""
    same_zxid = write.zxid is None or write.zxid == line.zxid
    return same_zxid and _is_same_text(write, line)


def _is_same_text(write: TraceEvent, line: TraceEvent) -> bool:
    return write.session_id == line.session_id and write.data == line.data


def _settle(register: _Register, operations: _Operations, evidence: Evidence) -> None:
    """Z3 for the versions that their author wrote without getting an answer."""
    for version, line in register.lines.items():
        if version in register.authors:
            continue
        author = _find(line, operations.unsettled)
        if author is not None and _expected(author) == version - 1:
            operations.unsettled.remove(author)
            register.authors[version] = author
            continue
        refused = _find(line, operations.refused)
        if author is not None:
            cause = f"by a write of unknown outcome that expected {_expected(author)}"
        elif refused is not None:
            cause = "by a write that was answered as refused"
        else:
            cause = "by no write in the trace"
        message = f"Version {version} was stored {cause}."
        evidence.violated(message, line, author or refused)


def _find(line: TraceEvent, writes: Iterable[TraceEvent]) -> TraceEvent | None:
    """A write that may have stored `line`; best one that expected the version before it."""
    same = [write for write in writes if _is_same_text(write, line)]
    fitting = [write for write in same if _expected(write) == _version(line) - 1]
    return next(iter(fitting + same), None)


def _check_read(read: TraceEvent, registers: Iterable[_Register], evidence: Evidence) -> None:
    """Z4."""
    if not any(register.holds(read) for register in registers):
        message = f"A read answered version {_version(read)} with data that it never had."
        evidence.violated(message, read)


def _check_command(command: TraceEvent, registers: Iterable[_Register], evidence: Evidence) -> None:
    """Z4 for commands."""
    stored = (
        document_of(line)
        for register in registers
        if (line := register.lines.get(_version(command))) is not None
    )
    told = (command.leader, command.leader_epoch)
    if not any(found and (found.leader, found.leader_epoch) == told for found in stored):
        message = (
            f"Broker {command.broker_id} obeyed leader {command.leader} of epoch"
            f" {command.leader_epoch} at version {command.znode_version}: ZooKeeper never held it."
        )
        evidence.violated(message, command)


def _reads_of(
    register: _Register, registers: Iterable[_Register], reads: Iterable[TraceEvent]
) -> list[TraceEvent]:
    """Reads that can only be of this creation of the znode."""
    others = [other for other in registers if other is not register]
    return [
        read
        for read in reads
        if register.holds(read) and not any(other.holds(read) for other in others)
    ]


def _check_order(register: _Register, reads: Sequence[TraceEvent], evidence: Evidence) -> None:
    """Z5 over all sessions, Z6 within each; the counter is the number of versions."""
    authors = sorted(register.authors.items())
    writes = [(_write_claim(version, write), write) for version, write in authors]
    anywhere = [(_read_claim(read, UNBOUNDED), read) for read in reads]
    _check_claims([*writes, *anywhere], evidence)
    in_session = [*writes, *((_read_claim(read, _version(read) + 1), read) for read in reads)]
    for session in sorted({event.session_id or 0 for _, event in in_session}):
        own = [pair for pair in in_session if (pair[1].session_id or 0) == session]
        _check_claims(own, evidence)


def _write_claim(version: int, write: TraceEvent) -> Claim:
    ret = write.mono_ns if write.outcome is Outcome.OK else UNBOUNDED
    return Claim(invoked_ns(write), ret, version + 1, version)


def _read_claim(read: TraceEvent, at_most: int) -> Claim:
    return Claim(invoked_ns(read), read.mono_ns, _version(read) + 1, at_most)


def _check_claims(claims: Sequence[tuple[Claim, TraceEvent]], evidence: Evidence) -> None:
    inversion = find_violation([claim for claim, _ in claims])
    if inversion is None or inversion.earlier is None:
        return
    earlier, later = claims[inversion.earlier], claims[inversion.later]
    message = (
        f"Version {earlier[0].lo - 1} was proven, and an operation invoked later was answered as"
        f" if the version were at most {later[0].hi - 1};"
        f" stale by {milliseconds(inversion.staleness)}."
    )
    evidence.violated(message, earlier[1], later[1])
