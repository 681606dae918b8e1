"""A failover is measured from the fault to the first write that the new leader acknowledged."""

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import convert

from fencepost.ci.options import keep_given
from fencepost.conformance.runs.host_interference import HostInterference, Stall
from fencepost.conformance.verdict import Verdict
from fencepost.reports.analysis.analyse import failover_report
from fencepost.reports.analysis.budgets import (
    OWN_BUDGETS,
    PHASES,
    Budgets,
    budgets_of,
    load_budgets,
)
from fencepost.reports.analysis.folder_report import FolderReport
from fencepost.reports.analysis.metrics import failovers, percentile
from fencepost.reports.analysis.tenures import Leadership, SharedRow, Tenure, tenures_of
from fencepost.reports.tables.errors import ReportError
from fencepost.spec.trace import TraceEvent

MS = 1_000_000


def shared(action: str, at_ms: int, **fields: object) -> SharedRow:
    row = dict.fromkeys(SharedRow.__dataclass_fields__)
    told = {"folder": 0, "node": "harness", "action": action, "mono_ns": at_ms * MS}
    return SharedRow(**(row | told | fields))  # type: ignore[arg-type]


def tenure(epoch: int, leader: int, *stamps_ms: int | None) -> Tenure:
    decided, published, told, leading, acknowledged = (
        None if stamp is None else stamp * MS for stamp in stamps_ms
    )
    return Tenure(
        folder=0,
        topic="orders",
        partition=0,
        leader_epoch=epoch,
        leader=leader,
        decided_ns=decided,
        published_ns=published,
        told_ns=told,
        leading_ns=leading,
        first_acknowledged_ns=acknowledged,
        last_acknowledged_ns=acknowledged,
    )


def fault(phase: str | None, at_ms: int, kind: str = "proc.kill", broker_id: int = 1) -> SharedRow:
    return shared("Fault", at_ms, fault_id="f", fault=kind, phase=phase, broker_id=broker_id)


def leadership(*tenures: Tenure, shared_rows: tuple[SharedRow, ...] = ()) -> Leadership:
    rows = (
        shared("ElectController", 1, controller_id=3),
        fault("injecting", 1000),
        fault("active", 1005),
        shared("DetectBrokerChange", 2500, live_brokers=[2, 3]),
        *shared_rows,
    )
    return Leadership(
        tenures=tenures, shared=tuple(sorted(rows, key=lambda row: row.mono_ns)), writes=()
    )


FIRST = tenure(0, 1, 10, 20, 21, 30, 40)
SECOND = tenure(1, 2, 2510, 2530, 2535, 2550, 2700)


def test_each_phase_runs_from_the_end_of_the_one_before() -> None:
    (found,) = failovers(leadership(FIRST, SECOND))

    assert found.kind == "proc.kill"
    assert (found.old_leader, found.new_leader) == (1, 2)
    assert found.phases_ms == {
        "detected": 1500.0,
        "decided": 10.0,
        "published": 20.0,
        "told": 5.0,
        "leading": 15.0,
        "first_acknowledged": 150.0,
        "total": 1700.0,
    }


def test_a_fault_on_a_broker_that_led_nothing_is_no_failover() -> None:
    assert failovers(leadership(tenure(0, 2, 10, 20, 21, 30, 40), SECOND)) == ()


def test_a_fault_that_leaves_the_leader_in_office_is_no_failover() -> None:
    assert failovers(leadership(FIRST, tenure(1, 1, 2510, 2530, 2535, 2550, 2700))) == ()


def test_a_fault_without_proven_effect_is_no_failover() -> None:
    rows = leadership(FIRST, SECOND)
    planned = tuple(row for row in rows.shared if row.phase != "active")

    assert failovers(Leadership(tenures=rows.tenures, shared=planned, writes=())) == ()


def test_a_broker_that_was_seen_back_and_went_later_is_no_failover_of_the_first_fault() -> None:
    back = (
        shared("RegisterBroker", 1030, node="broker-1"),
        shared("DetectBrokerChange", 1040, live_brokers=[1, 2, 3]),
    )

    assert failovers(leadership(FIRST, SECOND, shared_rows=back)) == ()


def test_a_broker_that_is_back_before_a_controller_chose_is_a_failover_all_the_same() -> None:
    back = (
        shared("DetectBrokerChange", 1020, live_brokers=[2, 3]),
        shared("RegisterBroker", 1030, node="broker-1"),
        shared("DetectBrokerChange", 1040, live_brokers=[1, 2, 3]),
    )
    seen_early = (shared("DetectBrokerChange", 1010, live_brokers=[1, 2, 3]),)
    chosen = tenure(1, 2, 1045, 1050, 1060, 1070, 1100)

    assert len(failovers(leadership(FIRST, chosen, shared_rows=back))) == 1
    assert len(failovers(leadership(FIRST, SECOND, shared_rows=seen_early))) == 1


def test_a_partition_that_is_created_again_is_no_failover() -> None:
    again = replace(SECOND, partition_incarnation=9, leader_epoch=0)

    assert failovers(leadership(FIRST, again)) == ()


def test_a_tenure_is_of_one_incarnation() -> None:
    told = {"run_id": "r", "kind": "action", "topic": "orders", "partition": 0, "leader_epoch": 0}
    steps = [
        ("PublishDecision", 1, 20, 5),
        ("BecomeLeader", 1, 30, 5),
        ("PublishDecision", 2, 50, 9),
        ("BecomeLeader", 2, 60, 9),
    ]
    events = [
        convert(
            {
                **told,
                "node": "broker-1",
                "seq": seq,
                "action": action,
                "leader": leader,
                "mono_ns": at_ns,
                "partition_incarnation": incarnation,
            },
            TraceEvent,
        )
        for seq, (action, leader, at_ns, incarnation) in enumerate(steps)
    ]

    found = tenures_of(0, events)
    assert [(t.partition_incarnation, t.leader, t.leading_ns) for t in found] == [
        (5, 1, 30),
        (9, 2, 60),
    ]


def test_a_write_acknowledged_in_a_later_epoch_still_counts() -> None:
    silent = tenure(1, 2, 2510, 2530, 2535, 2550, None)
    later = tenure(2, 3, 2800, 2810, 2811, 2820, 3000)

    (found,) = failovers(leadership(FIRST, silent, later))

    assert found.phases_ms["total"] == 2000.0


def test_the_loss_of_the_controller_is_a_kind_of_its_own_and_detected_by_its_successor() -> None:
    rows = (shared("ElectController", 2600, controller_id=2),)
    first = tenure(0, 3, 10, 20, 21, 30, 40)
    second = tenure(1, 2, 2610, 2630, 2635, 2650, 2700)
    base = leadership(first, second, shared_rows=rows)
    hit = tuple(
        fault(row.phase, row.mono_ns // MS, broker_id=3) if row.fault else row
        for row in base.shared
        if row.action != "DetectBrokerChange"
    )

    (found,) = failovers(Leadership(tenures=base.tenures, shared=hit, writes=()))

    assert found.kind == "proc.kill (controller)"
    assert found.phases_ms["detected"] == 1600.0


@pytest.mark.parametrize(
    ("values", "fraction", "expected"),
    [([5.0], 0.99, 5.0), ([1.0, 2.0, 3.0, 4.0], 0.5, 2.0), ([1.0, 2.0, 3.0, 4.0], 0.99, 4.0)],
)
def test_a_percentile_is_a_value_that_was_observed(
    values: list[float], fraction: float, expected: float
) -> None:
    assert percentile(values, fraction) == expected


def folder() -> FolderReport:
    return FolderReport.from_detail(
        '{"backend": "real"}',
        index=0,
        name="chaos/a",
        run_ids=("r",),
        events=1,
        duration_ns=1,
        has_end=True,
        lost_lines=0,
        foreign_lines=0,
        torn_lines=0,
        checks=(),
    )


def budgets(limit_ms: float) -> Budgets:
    return Budgets(limits_ms=dict.fromkeys(PHASES, limit_ms), of={})


def test_a_failover_within_its_budget_passes() -> None:
    report = failover_report(leadership(FIRST, SECOND), [folder()], budgets(2000))

    assert (report.verdict, report.complete) == (Verdict.PASS, 1)


def test_a_missed_budget_fails() -> None:
    report = failover_report(leadership(FIRST, SECOND), [folder()], budgets(1600))

    assert report.verdict is Verdict.FAIL
    assert [row.phase for row in report.latencies if not row.is_within] == ["total"]


def stood_still(for_ms: int) -> dict[int, HostInterference]:
    """The host of the run, from the moment after the fault on."""
    stall = Stall(since_ns=1010 * MS, until_ns=(1010 + for_ms) * MS)
    return {0: HostInterference(stalls=[stall])}


def test_a_budget_that_was_missed_while_the_host_stood_still_decides_nothing() -> None:
    found = replace(leadership(FIRST, SECOND), noise=stood_still(500))

    report = failover_report(found, [folder()], budgets(1600))

    assert report.verdict is Verdict.INCONCLUSIVE
    (row,) = [row for row in report.latencies if not row.is_within]
    assert (row.phase, row.verdict) == ("total", Verdict.INCONCLUSIVE)
    assert row.noise.startswith("the host stood still for 0.5 of these 1.")


def test_a_short_stall_excuses_no_missed_budget() -> None:
    found = replace(leadership(FIRST, SECOND), noise=stood_still(20))

    assert failover_report(found, [folder()], budgets(1600)).verdict is Verdict.FAIL


def test_noise_of_another_run_excuses_no_missed_budget() -> None:
    found = replace(leadership(FIRST, SECOND), noise={1: stood_still(500)[0]})

    assert failover_report(found, [folder()], budgets(1600)).verdict is Verdict.FAIL


def test_a_stalled_host_makes_no_good_failover_doubtful() -> None:
    found = replace(leadership(FIRST, SECOND), noise=stood_still(500))

    assert failover_report(found, [folder()], budgets(2000)).verdict is Verdict.PASS


def test_a_run_without_failover_is_vacuous() -> None:
    assert failover_report(leadership(FIRST), [folder()], budgets(1)).verdict is Verdict.VACUOUS


def test_our_own_budgets_are_complete_and_detection_by_expiry_is_tighter() -> None:
    ours = load_budgets()

    assert set(ours.limits_ms) == set(PHASES)
    assert ours.limit_ms("zk.expire", "detected") < ours.limit_ms("proc.kill", "detected")
    assert ours.limit_ms("zk.expire", "total") == ours.limit_ms("proc.kill", "total")


def test_a_run_that_was_given_budgets_is_judged_by_them_again(tmp_path: Path) -> None:
    assert budgets_of(tmp_path) == load_budgets()
    given = tmp_path / "given.toml"
    given.write_text("[failover]\n" + "".join(f"{phase}_ms = 7\n" for phase in PHASES))

    keep_given(given, tmp_path / OWN_BUDGETS)
    given.unlink()

    assert set(budgets_of(tmp_path).limits_ms.values()) == {7}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "failover"),
        ("[failover]\ntotal_ms = 1", "lacks detected_ms"),
        ("[failover]\nlunch_ms = 1", "no phase"),
        ("[failover]\ntotal_ms = -1", "> 0"),
        ("[failover", "cannot be read"),
    ],
)
def test_unusable_budgets_are_one_clear_sentence(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "budgets.toml"
    path.write_text(text)

    with pytest.raises(ReportError, match=reason):
        load_budgets(path)
