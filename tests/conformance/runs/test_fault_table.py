"""The table of kinds: from the catalogue and from what runs reported."""

from fencepost.conformance.runs.fault_table import kind_rows, undone_kinds
from fencepost.conformance.runs.scenario import ScenarioResult
from fencepost.conformance.verdict import Verdict
from fencepost.fault_injection.engine.progress import FaultReport
from fencepost.fault_injection.faults.catalogue import REAL_KINDS
from fencepost.fault_injection.faults.process_faults import PauseBroker
from fencepost.fault_injection.faults.targets import broker
from fencepost.fault_injection.stories.story import StoryAction
from fencepost.spec.trace import Phase
from tests.conformance.scenario_results import scenario_result


def report(phase: Phase, evidence: str | None, healed_ns: int | None = None) -> FaultReport:
    fault = PauseBroker(target=broker(1), for_ms=5)
    return FaultReport(
        action=StoryAction.at(action_id="f", at_ms=0, fault=fault),
        phase=phase,
        broker_id=1,
        evidence=evidence,
        injected_ns=1,
        healed_ns=healed_ns,
    )


def result(*faults: FaultReport) -> ScenarioResult:
    return scenario_result("a", Verdict.PASS, faults=faults)


def test_every_real_kind_has_a_row_and_those_that_nobody_played_are_named() -> None:
    rows = kind_rows([])

    assert {row.kind for row in rows} == REAL_KINDS
    assert set(undone_kinds(rows)) == REAL_KINDS
    assert rows[0].cells == [rows[0].kind, "0", "0", "0", "-", "-", "-"]


def test_a_row_counts_what_was_injected_seen_and_healed() -> None:
    rows = kind_rows(
        [
            result(report(Phase.HEALED, "state T", 1_000_000_001)),
            result(
                report(Phase.HEALED, "state T", 2_000_000_001),
                report(Phase.INEFFECTIVE, None, 3_000_000_001),
                report(Phase.FAILED, "state T"),
            ),
        ]
    )
    (pause,) = [row for row in rows if row.kind == "proc.pause"]

    assert pause.cells == ["proc.pause", "4", "2", "3", "1.50", "2.00", "state T"]
    assert "proc.pause" not in undone_kinds(rows)


def test_a_kind_that_was_injected_without_effect_is_named() -> None:
    rows = kind_rows([result(report(Phase.INEFFECTIVE, None, 9))])

    assert "proc.pause" in undone_kinds(rows)
