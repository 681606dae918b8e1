"""The quorum's log is told as ZooKeeper's would be, and what it must not hold is found in it."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest

from fencepost.conformance.adapters.implementation import RunSite
from fencepost.conformance.adapters.kafka.kraft.metadata_log import MetadataLogError, read_history
from fencepost.conformance.adapters.kafka.kraft.observations import broker_lines
from fencepost.conformance.adapters.kafka.started import STARTED
from fencepost.conformance.checks.generations import is_flagged
from fencepost.conformance.checks.registry import CHECKS, run_check
from fencepost.conformance.checks.trace_dialect import KAFKA_4_1
from fencepost.conformance.verdict import Verdict
from fencepost.fault_injection.zookeeper.transaction_log import Transaction, to_trace_events
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Invariant
from fencepost.spec.znodes import parse_leader_and_isr, parse_topic
from tests.conformance.adapters.kafka.metadata_writer import (
    batch,
    change,
    fencing,
    partition,
    topic,
    topic_removed,
    write_log,
)

STATE = "/brokers/topics/orders/0/leaderAndISR"
CREATED = (batch(0, b"", flags=32), batch(1, topic("orders"), partition([1, 2, 3], 1)))
END = 3
OTHER_ID = bytes(16)


def history(folder: Path, *batches: bytes) -> list[Transaction]:
    """Of three controllers that all have these batches."""
    return read_history([write_log(folder / str(number), *batches) for number in range(3)])


def states(transactions: Sequence[Transaction]) -> list[tuple[int, int, list[int], int | None]]:
    written = ((one, one.data) for one in transactions if one.path == STATE and one.data)
    found = ((one, parse_leader_and_isr(STATE, data)) for one, data in written)
    return [(s.leader, s.leader_epoch, sorted(s.isr), one.version) for one, s in found]


def test_each_record_is_a_transaction(tmp_path: Path) -> None:
    isr = batch(END, change(isr=[1, 3]), change(isr=[3], leader=3))
    moved = batch(END + 2, change(replicas=[3, 4]), epoch=4)
    found = history(tmp_path, *CREATED, isr, moved)

    assert states(found) == [
        (1, 0, [1, 2, 3], 0),
        (1, 0, [1, 3], 1),
        (3, 1, [3], 2),
        (3, 1, [3], 3),
    ]
    assert [(one.zxid, one.session_id) for one in found if one.path == STATE] == [
        (3, 1),
        (4, 1),
        (5, 1),
        (6, 4),
    ]
    epochs = [one.data for one in found if one.path == "/controller_epoch"]
    assert epochs == [b"1", b"4"]
    topics = [one for one in found if one.path == "/brokers/topics/orders"]
    assert [parse_topic(one.path or "", one.data or b"")[0] for one in topics] == [
        (1, 2, 3),
        (3, 4),
    ]


def test_a_broker_is_registered_while_it_is_not_fenced(tmp_path: Path) -> None:
    back, gone = (fencing(2, is_fenced=is_fenced) for is_fenced in (False, True))
    found = history(tmp_path, batch(0, gone, back, back, gone))

    assert [(one.kind, one.zxid) for one in found if one.path == "/brokers/ids/2"] == [
        ("Create", 1),
        ("Delete", 1),
    ]


def test_what_a_minority_holds_was_not_committed(tmp_path: Path) -> None:
    taken, lost = batch(END, change(isr=[1]), epoch=2), batch(END, change(isr=[2], leader=2))
    logs = ((*CREATED, taken), (*CREATED, lost), (*CREATED, taken))
    folders = [write_log(tmp_path / str(at), *log) for at, log in enumerate(logs)]

    assert states(read_history(folders))[1:] == [(1, 0, [1], 1)]
    assert len(states(read_history(folders[:2]))) == 1


def test_a_damaged_copy_does_not_count(tmp_path: Path) -> None:
    whole = b"".join((*CREATED, batch(END, change(isr=[1])), batch(END + 1, change(isr=[1, 2]))))
    damaged = whole.replace(change(isr=[1]), change(isr=[9]))
    assert damaged != whole
    one, two, three = (write_log(tmp_path / str(at), whole) for at in range(3))
    write_log(one, damaged)

    assert [state[2] for state in states(read_history([one, two, three]))][1:] == [[1], [1, 2]]
    write_log(two, damaged.replace(change(isr=[9]), change(isr=[8])))
    with pytest.raises(MetadataLogError, match=r"no batch at offset 3 .* one at offset 4 is"):
        read_history([one, two, three])


def test_a_record_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(MetadataLogError, match=r"the batch at offset 0 .* cannot be read"):
        history(tmp_path, batch(0, topic("orders"), partition([1], 1)[:-5]))
    with pytest.raises(MetadataLogError, match=r"the batch at offset 0 .* cannot be read"):
        history(tmp_path, batch(0, change(isr=[1])))
    with pytest.raises(MetadataLogError, match="offset 0 of the metadata log has 0 of 1 records"):
        history(tmp_path, batch(0, topic("orders"), flags=1))


AT = "2026-01-02 03:04:"
LEADS = (
    "INFO [Broker id={0}] Leader orders-0 with topic id Some({1}) starts at leader epoch {2} from "
    "offset 0 with partition epoch {3}, high watermark 0, ISR [1,2,3], adding replicas [] and "
    "removing replicas [] . Previous leader None and previous leader epoch was -1. (s)"
)
FOLLOWS = (
    "INFO [Broker id={0}] Follower orders-0 starts at leader epoch {1} from offset 0 with "
    "partition epoch {2} and high watermark 0. Current leader is 1. Previous leader None (s)"
)
ELECTED = "INFO [QuorumController id=101] Becoming the active controller at epoch {}, next (s)"
ID, OTHER = "AAECAwQFBgcICQoLDA0ODw", "A" * 22


def told(
    folder: Path,
    *batches: bytes,
    lines: Sequence[str] = (),
    epochs: Sequence[int] = (1,),
    may_lose_records: bool = False,
) -> list[TraceEvent]:
    """The trace of a run with these batches, broker 1's lines, and elections of controller 101."""
    written = list(to_trace_events(history(folder, *batches), "run"))
    of_node = {1: lines, 101: [ELECTED.format(epoch) for epoch in epochs]}
    for node, found in of_node.items():
        path = folder / "processes" / f"broker-{node}.observed.log"
        path.parent.mkdir(exist_ok=True)
        dated = (f"[{AT}{second:02},000] {line}\n" for second, line in enumerate(found, 1))
        path.write_text(f"[{AT}00,000] {STARTED}\n" + "".join(dated))
    site = RunSite(
        folder=folder, run_id="run", broker_ids=(1,), unclean_leader_election=may_lose_records
    )
    return [*written, *broker_lines(site, (1, 101), written)]


def fault(invariant: Invariant, events: Sequence[TraceEvent]) -> str:
    """The message of the first violation; empty for a pass with a premise."""
    result = run_check(CHECKS[invariant], events, KAFKA_4_1)
    assert result.verdict in (Verdict.PASS, Verdict.FAIL)
    return result.violations[0].message if result.violations else ""


FINE = {
    "an ISR that a leader asked for": change(isr=[1, 2]),
    "an election from the ISR": change(isr=[2, 3], leader=2),
    "a state without a leader": change(isr=[], leader=-1),
}


@pytest.mark.parametrize("name", FINE)
def test_what_a_controller_may_write(name: str, tmp_path: Path) -> None:
    events = told(tmp_path, *CREATED, batch(END, FINE[name]))

    assert fault(Invariant.ONLY_AUTHORISED_WRITES, events) == ""
    assert fault(Invariant.ISR_SUBSET_ASSIGNED, events) == ""


def test_a_leader_that_is_not_of_the_isr_is_found(tmp_path: Path) -> None:
    shrunk = batch(END, change(isr=[1, 2]))
    events = told(tmp_path, *CREATED, shrunk, batch(END + 1, change(isr=[3], leader=3)))

    message = fault(Invariant.ONLY_AUTHORISED_WRITES, events)
    assert message == "orders/0 at zxid 5: a decision made ISR [3] of ISR [1, 2]."


def test_from_an_empty_isr_only_a_member_of_the_last_one_is_elected(tmp_path: Path) -> None:
    empty = batch(END, change(isr=[1, 2]), change(isr=[2], leader=2), change(isr=[], leader=-1))
    back, stranger = (batch(END + 3, change(isr=[one], leader=one)) for one in (2, 1))

    assert fault(Invariant.ONLY_AUTHORISED_WRITES, told(tmp_path, *CREATED, empty, back)) == ""
    lost = told(tmp_path, *CREATED, empty, stranger)
    assert fault(Invariant.ONLY_AUTHORISED_WRITES, lost).endswith("made ISR [1] of ISR [2].")

    allowed = told(tmp_path, *CREATED, empty, stranger, may_lose_records=True)
    assert fault(Invariant.ONLY_AUTHORISED_WRITES, allowed) == ""
    assert [(one.broker_id, one.leader) for one in allowed if is_flagged(one)] == [(101, 1)]


def test_an_unclean_election_needs_all_eligible_ones_to_be_fenced(tmp_path: Path) -> None:
    there = batch(END, fencing(1, is_fenced=False), fencing(3, is_fenced=False), change(isr=[1]))
    elected, fenced = change(isr=[3], leader=3), fencing(1, is_fenced=True)
    dead, alive = batch(END + 3, elected, fenced), batch(END + 3, elected)

    allowed = told(tmp_path, *CREATED, there, dead, may_lose_records=True)
    assert fault(Invariant.ONLY_AUTHORISED_WRITES, allowed) == ""
    needless = told(tmp_path, *CREATED, there, alive, may_lose_records=True)
    message = fault(Invariant.ONLY_AUTHORISED_WRITES, needless)
    assert message.endswith("leader 3 is outside ISR [1], of which [1] is there.")


def test_of_two_that_left_the_isr_only_the_eligible_one_is_elected(tmp_path: Path) -> None:
    empty = batch(END, change(isr=[1], eligible=[3]), change(isr=[], leader=-1))
    back, stranger = (batch(END + 2, change(isr=[one], leader=one, eligible=[])) for one in (3, 2))

    assert fault(Invariant.ONLY_AUTHORISED_WRITES, told(tmp_path, *CREATED, empty, back)) == ""
    lost = told(tmp_path, *CREATED, empty, stranger)
    assert fault(Invariant.ONLY_AUTHORISED_WRITES, lost).endswith("made ISR [2] of ISR [3].")

    named = batch(END, change(isr=[1]), change(isr=[], leader=-1, eligible=[2]))
    message = fault(Invariant.ONLY_AUTHORISED_WRITES, told(tmp_path, *CREATED, named))
    assert message.endswith("[2] became eligible, of [1].")


def test_a_reassignment_may_end_with_the_isr_that_a_leader_asked_for(tmp_path: Path) -> None:
    both = batch(END, change(replicas=[1, 2, 3, 4]), change(isr=[1, 4], leader=1, replicas=[4, 1]))
    assert fault(Invariant.ONLY_AUTHORISED_WRITES, told(tmp_path, *CREATED, both)) == ""

    later = batch(END, change(replicas=[1, 4]), change(isr=[1, 4], leader=1))
    message = fault(Invariant.ONLY_AUTHORISED_WRITES, told(tmp_path, *CREATED, later))
    assert message.endswith("a decision made ISR [1, 4] of ISR [1, 2, 3].")


def test_a_write_of_an_epoch_without_a_controller_is_found(tmp_path: Path) -> None:
    late = batch(END, change(isr=[1]), epoch=3)

    assert fault(Invariant.ONLY_AUTHORISED_WRITES, told(tmp_path, *CREATED, late)) != ""
    known = told(tmp_path, *CREATED, late, epochs=(1, 3))
    assert fault(Invariant.ONLY_AUTHORISED_WRITES, known) == ""
    assert fault(Invariant.ONE_CONTROLLER_PER_EPOCH, known) == ""


def test_an_isr_beyond_the_assignment_is_found(tmp_path: Path) -> None:
    events = told(tmp_path, *CREATED, batch(END, change(isr=[1, 4])))

    message = fault(Invariant.ISR_SUBSET_ASSIGNED, events)
    assert message == "orders/0 has [4] in its ISR, and is assigned to [1, 2, 3]."


def test_a_role_that_the_log_never_held_is_found(tmp_path: Path) -> None:
    elected = batch(END, change(leader=1))
    lines = [LEADS.format(1, ID, 0, 0), LEADS.format(1, ID, 1, 1)]

    fine = told(tmp_path, *CREATED, elected, lines=lines)
    assert fault(Invariant.LINEARIZABLE_ZNODE, fine) == ""
    for log in ((*CREATED,), (*CREATED, batch(END, change(leader=2)))):
        message = fault(Invariant.LINEARIZABLE_ZNODE, told(tmp_path, *log, lines=lines))
        assert message.startswith("Broker 1 obeyed leader 1 of epoch 1 at version 1")


def test_the_id_of_a_topic_tells_which_of_two_a_line_is_about(tmp_path: Path) -> None:
    start = datetime.strptime(f"{AT}00", "%Y-%m-%d %H:%M:%S").timestamp() * 1000  # noqa: DTZ007
    first = batch(0, topic("orders"), partition([1], 1), wall_ms=int(start))
    second = batch(
        2,
        topic_removed(),
        topic("orders", OTHER_ID),
        partition([1], 1, OTHER_ID),
        wall_ms=int(start) + 1500,
    )
    lines = [
        FOLLOWS.format(1, 0, 0),
        LEADS.format(1, OTHER, 0, 0),
        LEADS.format(1, ID, 0, 0),
        FOLLOWS.format(1, 0, 0),
    ]

    roles = [one for one in told(tmp_path, first, second, lines=lines) if one.znode_version == 0]
    of_broker = [one.partition_incarnation for one in roles if one.node == "broker-1"]
    assert of_broker == [2, 5, 2, 5]
    of_broker = [
        one.partition_incarnation
        for one in told(tmp_path, first, lines=lines[-1:])
        if one.node == "broker-1"
    ]
    assert of_broker == [None]
