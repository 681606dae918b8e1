"""What a check needs, and that it decides nothing by less."""

from fencepost.conformance.checks.observations import (
    EVERYTHING,
    NEEDS,
    OF_CLIENTS,
    Fidelity,
    Observable,
    lacking,
    lacks,
)
from fencepost.conformance.checks.registry import CHECKS
from fencepost.conformance.runs.judgement import judge_checks
from fencepost.conformance.runs.scenario import RunRecord
from fencepost.conformance.verdict import Verdict
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Action, Invariant
from tests.conformance.checks.trace_builder import Trace
from tests.conformance.checks.znode_stories import FIRST, store

SAMPLED = {**OF_CLIENTS, Observable.ROLES: Fidelity.SAMPLED, Observable.APPENDS: Fidelity.DISK}


def appended(broker_id: int, value: str) -> TraceEvent:
    return TraceEvent(
        run_id="r",
        node=f"broker-{broker_id}",
        seq=0,
        mono_ns=0,
        kind=Kind.ACTION,
        action=Action.FOLLOWER_APPEND,
        topic="t",
        partition=0,
        broker_id=broker_id,
        offset=0,
        values=[value],
        record_epochs=[1],
        log_end_offset=1,
        high_watermark=1,
    )


def test_each_check_says_what_it_needs() -> None:
    assert NEEDS.keys() == CHECKS.keys()
    assert not any(lacks(invariant, EVERYTHING) for invariant in NEEDS)


def test_samples_suffice_for_what_never_changes_back() -> None:
    assert not lacks(Invariant.ONE_LEADER_PER_EPOCH, SAMPLED)
    assert lacks(Invariant.STALE_CONTROLLER_HARMLESS, SAMPLED) == {
        Observable.ROLES: Fidelity.SAMPLED
    }


def test_lines_of_a_log_suffice_for_leaders_and_committers() -> None:
    told = dict.fromkeys((Observable.ROLES, Observable.HIGH_WATERMARKS), Fidelity.LOG)

    assert not lacks(Invariant.ONE_COMMITTER_PER_EPOCH, told)
    assert not lacks(Invariant.LEADER_COMPLETE, told)
    assert lacks(Invariant.LEADER_COMPLETE, {**told, Observable.APPENDS: Fidelity.SAMPLED})


def test_what_is_missing_is_named_with_what_there_is() -> None:
    missing = lacks(Invariant.LEADER_COMPLETE, SAMPLED)

    assert lacking(Invariant.LEADER_COMPLETE, missing) == (
        "high_watermarks exact or log (here none), roles exact or log (here sampled)"
    )


def test_lines_that_are_not_faithful_enough_decide_nothing() -> None:
    events = [appended(1, "a"), appended(2, "b")]
    faithful, sampled = RunRecord(), RunRecord()

    checks, _ = judge_checks(events, faithful)
    unsound, _ = judge_checks(events, sampled, {Observable.APPENDS: Fidelity.SAMPLED})

    found = {one.invariant for one in checks if one.violations}
    assert found == {Invariant.LOG_MATCHING, Invariant.ACTS_IN_ITS_ROLE}
    assert not any(one.violations for one in unsound)
    (problem,) = sampled.problems
    assert problem.verdict is Verdict.NOT_OBSERVABLE
    assert "LogMatching needs appends exact or disk (here sampled)" in problem.sentence


def test_writes_of_the_state_alone_leave_their_authors_open() -> None:
    observed = {**OF_CLIENTS, Observable.STATE_WRITES: Fidelity.EXACT}
    trace = Trace()
    store(trace, 1, FIRST, version=0, zxid=5)

    whole, _ = judge_checks(trace.events, RunRecord())
    half, _ = judge_checks(trace.events, RunRecord(), observed)

    assert {one.invariant for one in whole if one.violations} == {
        Invariant.LINEARIZABLE_ZNODE,
        Invariant.ONLY_AUTHORISED_WRITES,
    }
    assert not any(one.violations for one in half)
