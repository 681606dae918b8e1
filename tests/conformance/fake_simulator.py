"""A simulator of two clients and no cluster, for tests of what runs simulators."""

from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Outcome

LOSING_SEED = 7
BROKEN_SEED = 9
CUT_SEED = 11
"""At level 0 its trace has no end."""
MUTANT_SHOWS_FROM = 3
SICK_SEED = 12
"""At level 0 its cluster does not heal."""
UNREAD_SEED = 13
"""At level 0 its final read does not end."""
MUMBLING_SEED = 14
"""At level 0 it ends with words that are no JSON."""
ENDINGS = {
    SICK_SEED: '{"converged": false, "final_read": true}',
    UNREAD_SEED: '{"converged": true, "final_read": false}',
    MUMBLING_SEED: "well",
}
HEALTHY = '{"converged": true, "final_read": true}'


def simulate(seed: int, *, level: int, mutant: str | None) -> list[TraceEvent]:
    """One acknowledged record and the final read, which misses it in a losing run."""
    if seed == BROKEN_SEED:
        raise AssertionError("the log ends before it begins")
    loses = (level == 0 and seed == LOSING_SEED) or (
        mutant == "forgetful" and seed >= MUTANT_SHOWS_FROM
    )
    value = f"client-1/{seed}/1"
    found: dict[str, object] = {
        "values": [] if loses else [value],
        "high_watermark": 0 if loses else 1,
        "log_end_offset": 0 if loses else 1,
    }
    return [
        line("harness", 0, Kind.RUN, "RunStarted", 1),
        line("client-1", 0, Kind.INVOKE, "Produce", 2, values=[value], acks=-1, op_id=1),
        line(
            "client-1",
            1,
            Kind.COMPLETE,
            "Produce",
            3,
            values=[value],
            acks=-1,
            op_id=1,
            inv_ns=2,
            offset=0,
            outcome=Outcome.OK,
            high_watermark=1,
            broker_id=1,
            leader_epoch=0,
        ),
        line("client-final", 0, Kind.INVOKE, "Fetch", 4, offset=0, op_id=1),
        line(
            "client-final",
            1,
            Kind.COMPLETE,
            "Fetch",
            5,
            offset=0,
            op_id=1,
            inv_ns=4,
            outcome=Outcome.OK,
            broker_id=1,
            leader_epoch=0,
            **found,
        ),
        *end_of(seed, level, mutant),
    ]


def end_of(seed: int, level: int, mutant: str | None) -> list[TraceEvent]:
    """How the run ended, in its own words."""
    detail = ENDINGS.get(seed, HEALTHY) if level == 0 else HEALTHY
    if mutant == "harmless":
        detail = ENDINGS[SICK_SEED]
    if mutant == "idle" and seed >= MUTANT_SHOWS_FROM:
        detail = '{"converged": false, "unhealed": ["EventuallyLeader", "EventuallyIsrFull"]}'
    if level == 0 and seed == CUT_SEED:
        return []
    return [line("harness", 1, Kind.RUN, "RunEnded", 6, detail=detail)]


def mutants() -> list[dict[str, object]]:
    """One that is caught, one that no check sees though its cluster never heals.

    The cluster of the third tells what did not heal.
    """
    return [
        {
            "mutant": "forgetful",
            "rule": "Records are forgotten.",
            "requirement": "REPL-004",
            "caught_by": ["AcknowledgedDurable"],
        },
        {
            "mutant": "harmless",
            "rule": "Nothing is wrong.",
            "requirement": "REPL-005",
            "caught_by": ["LogMatching"],
        },
        {
            "mutant": "idle",
            "rule": "No leader is elected.",
            "requirement": "FAIL-008",
            "caught_by": ["EventuallyLeader"],
        },
    ]


def suite_mutants() -> list[dict[str, object]]:
    """None."""
    return []


def line(
    node: str, seq: int, kind: Kind, action: str, mono_ns: int, **fields: object
) -> TraceEvent:
    """A line of the partition that all is about."""
    about = {} if kind is Kind.RUN else {"topic": "t", "partition": 0}
    return TraceEvent(
        run_id="fake",
        node=node,
        seq=seq,
        kind=kind,
        action=action,
        mono_ns=mono_ns,
        **about,  # type: ignore[arg-type]
        **fields,  # type: ignore[arg-type]
    )
