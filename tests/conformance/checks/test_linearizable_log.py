"""The log check: each condition broken by hand, and all of them against a search."""

from dataclasses import dataclass, replace
from random import Random

import pytest

from fencepost.conformance.checks.linearizable_log import check
from fencepost.conformance.verdict import Verdict
from fencepost.spec.vocabulary import Action, ErrorCode, Outcome
from tests.conformance.checks.trace_builder import Fields, Trace

REFUSED, INDEFINITE = Outcome.DEFINITE_ERROR, Outcome.INDEFINITE


def test_a_growing_log_passes() -> None:
    trace = Trace()
    trace.produce("ab", offset=0, high_watermark=2)
    trace.fetch(0, "ab", 2)
    trace.fetch(2, "", 2)
    trace.produce("c", INDEFINITE)
    trace.fetch(2, "c", 3)
    trace.produce("d", offset=3)
    trace.operation("client-1", "ListOffsets", high_watermark=4, leader_epoch=1)
    result = check(trace.events)

    assert result.verdict is Verdict.PASS, result
    assert result.premise_count == 6


def test_without_answers_it_is_vacuous() -> None:
    trace = Trace()
    trace.produce("a", None)
    trace.produce("b", REFUSED)

    assert check(trace.events).verdict is Verdict.VACUOUS


def shape_of_fetch(trace: Trace) -> None:
    trace.produce("ab", offset=0)
    trace.fetch(0, "ab", 1)


def shape_of_lengths(trace: Trace) -> None:
    trace.produce("ab", offset=0, high_watermark=2, log_end_offset=1)


def shape_of_acknowledgement(trace: Trace) -> None:
    trace.produce("a", offset=-1)


def out_of_range_at_the_start(trace: Trace) -> None:
    trace.operation(
        "c", "Fetch", REFUSED, offset=0, error_code="OFFSET_OUT_OF_RANGE", leader_epoch=1
    )


def one_offset_two_values(trace: Trace) -> None:
    trace.produce("a", offset=0)
    trace.produce("b", INDEFINITE)
    trace.fetch(0, "b", 1)


def two_readers_disagree(trace: Trace) -> None:
    trace.produce("a", INDEFINITE)
    trace.produce("b", INDEFINITE)
    trace.fetch(0, "a", 1)
    trace.fetch(0, "b", 1)


def offset_acknowledged_twice(trace: Trace) -> None:
    trace.produce("a", offset=0)
    trace.produce("b", offset=0)


def record_at_two_offsets(trace: Trace) -> None:
    trace.produce("a", INDEFINITE)
    trace.fetch(0, "aa", 2)


def phantom(trace: Trace) -> None:
    trace.fetch(0, "z", 1)


def refused_record_is_read(trace: Trace) -> None:
    trace.produce("a", REFUSED)
    trace.fetch(0, "a", 1)


def hole(trace: Trace) -> None:
    trace.produce("a", offset=1)


def hole_with_a_spare_that_came_too_late(trace: Trace) -> None:
    trace.produce("a", offset=1)
    trace.produce("b", INDEFINITE)


def stale_read(trace: Trace) -> None:
    trace.produce("a", offset=0)
    trace.fetch(0, "", 0)


def watermark_regressed(trace: Trace) -> None:
    trace.produce("ab", offset=0)
    trace.fetch(0, "ab", 2)
    trace.fetch(0, "a", 1)


def appended_below_a_proven_length(trace: Trace) -> None:
    trace.produce("a", INDEFINITE)
    trace.produce("b", INDEFINITE)
    trace.operation("client-3", "ListOffsets", high_watermark=1, leader_epoch=1)
    trace.produce("c", offset=0, leader_epoch=2)


def out_of_range_inside_the_log(trace: Trace) -> None:
    trace.produce("ab", offset=0)
    trace.operation(
        "c", "Fetch", REFUSED, offset=1, error_code="OFFSET_OUT_OF_RANGE", leader_epoch=1
    )


def read_before_it_was_written(trace: Trace) -> None:
    trace.fetch(0, "a", 1)
    trace.produce("a", offset=0)


def falls_again_after_the_new_leader_had_caught_up(trace: Trace) -> None:
    trace.produce("ab", offset=0, leader_epoch=1)
    trace.fetch(0, "", 0, leader_epoch=2)
    trace.fetch(0, "ab", 2, leader_epoch=2)
    trace.fetch(0, "a", 1, leader_epoch=2)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (shape_of_fetch, "above its high watermark"),
        (shape_of_lengths, "above log end"),
        (shape_of_acknowledgement, "without an offset"),
        (out_of_range_at_the_start, "out of range"),
        (one_offset_two_values, "for another reader"),
        (two_readers_disagree, "for another reader"),
        (offset_acknowledged_twice, "acknowledged twice"),
        (record_at_two_offsets, "is at offset 0 and at offset 1"),
        (phantom, "was never written"),
        (refused_record_is_read, "though its produce was refused"),
        (hole, "no record was written there"),
        (hole_with_a_spare_that_came_too_late, "no record was written there"),
        (stale_read, "as if it had 0"),
        (watermark_regressed, "as if it had 1"),
        (appended_below_a_proven_length, "as if it had 0"),
        (out_of_range_inside_the_log, "as if it had 0"),
        (read_before_it_was_written, "as if it had 0"),
        (falls_again_after_the_new_leader_had_caught_up, "as if it had 1"),
    ],
)
def test_each_condition_is_caught(write: object, message: str) -> None:
    trace = Trace()
    assert callable(write)
    write(trace)
    result = check(trace.events)

    assert result.verdict is Verdict.FAIL
    assert message in " ".join(violation.message for violation in result.violations)
    assert all(violation.topic == "orders" for violation in result.violations)


def test_a_violation_shows_the_two_operations() -> None:
    trace = Trace()
    written = trace.produce("a", offset=0)
    read = trace.fetch(0, "", 0)
    violation = check(trace.events).violations[0]

    assert violation.witness == (written, read)
    assert (violation.node, violation.seq) == ("client-1", 1)
    assert "stale by 0.000001 ms" in violation.message


def test_a_new_leader_may_lag_until_it_has_caught_up() -> None:
    trace = Trace()
    trace.produce("ab", offset=0, leader_epoch=1)
    trace.fetch(0, "", 0, leader_epoch=2)
    trace.fetch(0, "ab", 2, leader_epoch=2)

    assert check(trace.events).verdict is Verdict.PASS


def test_an_acknowledgement_of_the_leader_alone_promises_nothing() -> None:
    trace = Trace()
    trace.produce("a", offset=0, acks=1)
    trace.produce("b", offset=0, leader_epoch=2)
    trace.fetch(0, "b", 1, leader_epoch=2)

    assert check(trace.events).verdict is Verdict.PASS


def test_a_spare_record_fills_a_hole() -> None:
    trace = Trace()
    trace.produce("a", None)
    trace.produce("b", offset=1)

    assert check(trace.events).verdict is Verdict.PASS


def test_equal_payloads_leave_a_doubt() -> None:
    trace = Trace()
    trace.produce("a", INDEFINITE)
    trace.produce("a", offset=0)

    assert check(trace.events).verdict is Verdict.INCONCLUSIVE


# The same question, answered by trying every order.


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    inv: int
    ret: int
    value: str = ""
    """Of an append; empty for a fetch."""
    offset: int = -1
    values: str = ""
    high_watermark: int = 0
    outcome: Outcome = Outcome.OK


def applied(op: Op, log: str) -> str | None:
    """The log after `op`; None when `op` cannot have been answered so."""
    if op.value:
        fits = op.outcome is INDEFINITE or op.offset == len(log)
        return log + op.value if fits else None
    seen = log[op.offset : op.offset + len(op.values)]
    return log if seen == op.values and op.high_watermark == len(log) else None


def is_linearizable(ops: list[Op]) -> bool:
    dead: set[tuple[frozenset[int], str]] = set()

    def search(remaining: frozenset[int], log: str) -> bool:
        pending = [index for index in remaining if ops[index].outcome is Outcome.OK]
        if not pending:
            return True
        if (remaining, log) in dead:
            return False
        first_return = min(ops[index].ret for index in pending)
        for index in sorted(remaining):
            after = applied(ops[index], log) if ops[index].inv <= first_return else None
            if after is not None and search(remaining - {index}, after):
                return True
        dead.add((remaining, log))
        return False

    return search(frozenset(i for i, op in enumerate(ops) if op.outcome is not REFUSED), "")


def random_history(random: Random) -> list[Op]:
    """A history that some log has answered, with up to three things changed."""
    count = random.randint(2, 7)
    points = sorted(random.randint(0, 10) for _ in range(count))
    ops: list[Op] = []
    log = ""
    for index, point in enumerate(points):
        op = Op(inv=max(0, point - random.randint(0, 3)), ret=point + random.randint(0, 3))
        value, chance = "abcdefg"[index], random.random()
        if chance < 0.35:
            ops.append(replace(op, value=value, offset=len(log)))
            log += value
        elif chance < 0.55:
            ops.append(replace(op, value=value, outcome=INDEFINITE))
            log += value if random.random() < 0.6 else ""
        elif chance < 0.6:
            ops.append(replace(op, value=value, outcome=REFUSED))
        else:
            start = random.randint(0, len(log))
            end = random.randint(start, len(log))
            ops.append(replace(op, offset=start, values=log[start:end], high_watermark=len(log)))
    for _ in range(random.randint(0, 3)):
        ops = perturbed(ops, random)
    return ops


def perturbed(ops: list[Op], random: Random) -> list[Op]:
    index = random.randrange(len(ops))
    op = ops[index]
    changes = [
        replace(op, inv=op.inv + 4, ret=op.ret + 4),
        replace(op, inv=max(0, op.inv - 4), ret=max(0, op.ret - 4)),
        replace(op, offset=max(0, op.offset + random.choice([-1, 1]))),
        replace(op, high_watermark=max(0, op.high_watermark + random.choice([-1, 1]))),
        replace(op, values=op.values[::-1]),
        replace(op, values=op.values + random.choice("abz")),
    ]
    return [*ops[:index], random.choice(changes), *ops[index + 1 :]]


def trace_of(ops: list[Op]) -> Trace:
    trace = Trace()
    for index, op in enumerate(ops):
        node = f"client-{index}"
        if op.value:
            offset = op.offset if op.outcome is Outcome.OK else None
            fields = {} if offset is None else {"offset": offset}
            trace.produce(op.value, op.outcome, inv=op.inv, ret=op.ret, node=node, **fields)
        else:
            trace.fetch(op.offset, op.values, op.high_watermark, inv=op.inv, ret=op.ret, node=node)
    return trace


def test_verdict_equals_search_over_all_orders() -> None:
    random = Random(3)
    illegal = 0
    for _ in range(4000):
        ops = random_history(random)
        expected = is_linearizable(ops)
        result = check(trace_of(ops).events)
        illegal += not expected

        assert (not result.violations) == expected, (ops, result.violations)
    assert 600 < illegal < 3400


def told(trace: Trace) -> list[str]:
    return [violation.message for violation in check(trace.events).violations]


def lossy(trace: Trace) -> None:
    """Leader epoch 2 begins another generation of the log."""
    trace.broker(1, Action.ELECT_LEADER, leader=2, leader_epoch=2, is_unclean=True)


@pytest.mark.parametrize(
    ("outcome", "epoch", "message"),
    [
        (Outcome.OK, 2, "Offset 0 holds a and, for another reader, b."),
        (Outcome.OK, 1, ""),
        (Outcome.DEFINITE_ERROR, 1, ""),
    ],
)
def test_what_was_acknowledged_binds_its_generation(
    outcome: Outcome, epoch: int, message: str
) -> None:
    trace = Trace()
    lossy(trace)
    trace.produce("a", outcome, offset=0, leader_epoch=epoch)
    trace.produce("b", Outcome.INDEFINITE)
    trace.fetch(0, "b", 1, leader_epoch=2)

    assert told(trace) == ([message] if message else [])


@pytest.mark.parametrize("epoch", [1, 2])
def test_what_was_refused_is_in_no_generation(epoch: int) -> None:
    trace = Trace()
    lossy(trace)
    trace.produce("a", Outcome.DEFINITE_ERROR, leader_epoch=1)
    trace.fetch(0, "a", 1, leader_epoch=epoch)

    assert told(trace) == ["Record a at offset 0 was read though its produce was refused."]


@pytest.mark.parametrize(("log_end_offset", "expected"), [(2, 0), (3, 1), (None, 0)])
def test_the_end_of_the_log_is_in_range(log_end_offset: int | None, expected: int) -> None:
    trace = Trace()
    line = {"offset": 3, "log_end_offset": log_end_offset, "leader_epoch": 1}
    error = ErrorCode.OFFSET_OUT_OF_RANGE.value
    trace.operation("client-2", "Fetch", Outcome.DEFINITE_ERROR, error_code=error, **line)

    assert told(trace) == ["Offset 3 was refused as out of range inside the log."] * expected


@pytest.mark.parametrize(
    ("outcome", "line"),
    [
        ("Produce", {"acks": 1, "offset": 2, "values": ["c"], "high_watermark": 1}),
        ("Produce", {"acks": 1, "values": ["c"]}),
        ("ListOffsets", {}),
        ("Fetch", {"offset": 1, "values": ["b"]}),
        ("Fetch", {"offset": 2}),
    ],
)
def test_an_answer_that_denies_no_record_is_no_stale_one(outcome: str, line: Fields) -> None:
    trace = Trace()
    trace.produce("ab", offset=0)
    trace.fetch(0, "ab", 2)
    trace.operation("client-2", outcome, Outcome.OK, leader_epoch=1, **line)

    assert told(trace) == []


@pytest.mark.parametrize(
    ("proof", "proven"),
    [
        ({"action": "Fetch", "offset": 0, "values": ["a", "b"]}, 2),
        ({"action": "Fetch", "high_watermark": 2}, 2),
        ({"action": "ListOffsets", "high_watermark": 2}, 2),
        ({"action": "Produce", "acks": -1, "offset": 1, "values": ["b"]}, 2),
        ({"action": "Produce", "acks": 1, "offset": 1, "values": ["b"]}, None),
    ],
)
@pytest.mark.parametrize(
    "denial",
    [
        {"action": "Fetch", "offset": 1},
        {"action": "Fetch", "offset": 0, "values": ["a"], "high_watermark": 1},
        {"action": "ListOffsets", "high_watermark": 1},
        {
            "action": "Fetch",
            "outcome": Outcome.DEFINITE_ERROR,
            "offset": 2,
            "error_code": ErrorCode.OFFSET_OUT_OF_RANGE.value,
        },
    ],
)
def test_a_proven_length_is_denied_by_none_that_asks_later(
    proof: Fields, denial: Fields, proven: int | None
) -> None:
    trace = Trace()
    for value in "ab":
        trace.produce(value, Outcome.INDEFINITE)
    for line in (proof, denial):
        answer: Fields = {"outcome": Outcome.OK, "leader_epoch": 1, **line}
        trace.operation("client-2", **answer)  # type: ignore[arg-type]

    found = [message for message in told(trace) if "asked" in message or "proven" in message]
    expected = f"The log was proven {proven} records long, and an operation invoked later was"
    assert [message.startswith(expected) for message in found] == ([True] if proven else [])
