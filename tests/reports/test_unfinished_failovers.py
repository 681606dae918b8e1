"""A leader that is gone for good: told by how long clients asked in vain, and never by mistake."""

import json
from pathlib import Path

import pytest

from fencepost.ci.gate.outcomes import missed_budgets, of_analysis
from fencepost.conformance.verdict import Verdict
from fencepost.reports.analysis.aggregates import AGGREGATES, Analysis
from fencepost.reports.page.render import render
from fencepost.spec.trace import Kind, Phase
from fencepost.spec.vocabulary import Outcome
from tests.reports.aggregated import analysed, save_all
from tests.reports.stories import SECOND, Story, begin, failover_story, kill_leader

BUDGET_MS = 10_000
"""Of a whole failover, in `ci/budgets.toml`."""

SENTENCE = (
    "After proc.kill of broker 1, no write to orders/0 was acknowledged any more, "
    "though clients asked for "
)


def fault(story: Story, kind: str, *phases: Phase) -> None:
    for phase in phases:
        story.fault(phase, 1, kind, f"{kind}-1")


def ask_in_vain(story: Story, for_ms: int) -> None:
    """A client asks every second, and hears each time that there is no leader."""
    for _ in range(0, for_ms, 1000):
        operation = {
            "topic": story.topic,
            "partition": 0,
            "acks": -1,
            "values": [f"client-1/{story.next_operation()}/1"],
            "op_id": story.op_id,
        }
        asked = story.emit("client-1", Kind.INVOKE, "Produce", **operation)
        story.emit(
            "client-1",
            Kind.COMPLETE,
            "Produce",
            **operation,
            inv_ns=asked.mono_ns,
            outcome=Outcome.DEFINITE_ERROR,
            error_code="BROKER_NOT_AVAILABLE",
        )
        story.wait_ms(998)


def orphaned(for_ms: int) -> Story:
    """Broker 1 is killed, and no broker is elected in its place."""
    story = Story("r")
    begin(story)
    fault(story, "proc.kill", Phase.INJECTING, Phase.ACTIVE)
    ask_in_vain(story, for_ms)
    story.end()
    return story


def judged(story: Story, tmp_path: Path) -> Analysis:
    return analysed(save_all(tmp_path / "run", {"chaos/a": story}), tmp_path / "scratch")


def counted(analysis: Analysis) -> tuple[Verdict, int, int]:
    return analysis.failover.verdict, analysis.failover.observed, analysis.failover.complete


def test_a_leader_without_heir_is_inconclusive_and_told(tmp_path: Path) -> None:
    analysis = judged(orphaned(BUDGET_MS + 2000), tmp_path)

    assert counted(analysis) == (Verdict.INCONCLUSIVE, 1, 0)
    assert analysis.verdicts["failover"] is Verdict.INCONCLUSIVE
    assert analysis.failover.unfinished == (SENTENCE + "11,001 ms.",)
    assert SENTENCE in of_analysis(analysis).summary


def test_the_page_tells_it(tmp_path: Path) -> None:
    analysis = judged(orphaned(BUDGET_MS + 2000), tmp_path)
    (tmp_path / "run" / AGGREGATES).write_bytes(analysis.to_json())

    assert SENTENCE in render(tmp_path / "run").read_text()


def test_an_heir_that_never_acknowledges_a_write_is_inconclusive(tmp_path: Path) -> None:
    story = Story("r")
    begin(story)
    kill_leader(story)
    ask_in_vain(story, BUDGET_MS + 2000)
    story.end()

    analysis = judged(story, tmp_path)

    assert counted(analysis) == (Verdict.INCONCLUSIVE, 1, 0)
    (failover,) = analysis.failover.failovers
    assert failover.new_leader == SECOND["leader"]


def test_one_failover_that_ends_does_not_hide_another(tmp_path: Path) -> None:
    stories = {"chaos/a": failover_story("a"), "chaos/b": orphaned(BUDGET_MS + 2000)}

    analysis = analysed(save_all(tmp_path / "run", stories), tmp_path / "scratch")

    assert counted(analysis) == (Verdict.INCONCLUSIVE, 2, 1)


def test_a_fault_near_the_end_of_the_run_is_no_alarm(tmp_path: Path) -> None:
    assert counted(judged(orphaned(BUDGET_MS - 2000), tmp_path)) == (Verdict.VACUOUS, 0, 0)


def test_clients_that_stopped_are_no_alarm(tmp_path: Path) -> None:
    story = orphaned(1000)
    story.events.pop()
    story.next_seq["harness", 1] -= 1
    story.wait_ms(10 * BUDGET_MS)
    story.end()

    assert counted(judged(story, tmp_path)) == (Verdict.VACUOUS, 0, 0)


@pytest.mark.parametrize("kind", ["proc.pause", "zk.expire", "proc.kill"])
def test_a_leader_that_leads_on_after_the_fault_is_no_alarm(kind: str, tmp_path: Path) -> None:
    story = Story("r")
    begin(story)
    fault(story, kind, Phase.INJECTING, Phase.ACTIVE)
    ask_in_vain(story, BUDGET_MS + 2000)
    fault(story, kind, Phase.HEALING, Phase.HEALED)
    story.produce((2, "client-1/2/1"), (1, 0), [1, 2, 3])
    ask_in_vain(story, BUDGET_MS + 2000)
    story.end()

    assert counted(judged(story, tmp_path)) == (Verdict.VACUOUS, 0, 0)


def late_failover(stood_still_ms: int) -> Story:
    """Broker 2 leads at once, and its first write is acknowledged after the budget."""
    story = Story("r")
    begin(story)
    kill_leader(story)
    since_ns = story.now_ns
    story.wait_ms(BUDGET_MS)
    if stood_still_ms:
        told = {"since_ns": since_ns, "stalled_ms": stood_still_ms, "pressure_ms": {"cpu": 9}}
        story.emit("harness", Kind.RUN, "HostStalled", detail=json.dumps(told))
    story.produce((2, "client-1/2/1"), (2, 1), [2, 3])
    story.final_read([f"client-1/{n}/1" for n in range(3)], (2, 1))
    story.end()
    return story


def test_a_late_failover_is_a_missed_budget(tmp_path: Path) -> None:
    analysis = judged(late_failover(0), tmp_path)

    assert counted(analysis) == (Verdict.FAIL, 1, 1)
    assert missed_budgets(analysis)[-1].endswith(" ms of 10000 allowed after proc.kill")


def test_a_late_failover_of_a_host_that_stood_still_is_told_as_noise(tmp_path: Path) -> None:
    analysis = judged(late_failover(3000), tmp_path)
    (tmp_path / "run" / AGGREGATES).write_bytes(analysis.to_json())
    noise = "the host stood still for 3.0 of these 11.5 s"

    assert counted(analysis) == (Verdict.INCONCLUSIVE, 1, 1)
    assert missed_budgets(analysis)[-1].endswith(f"allowed after proc.kill, but {noise}")
    page = render(tmp_path / "run").read_text()
    assert f", but {noise}: that shows nothing." in page
    assert f'<span class="why">{noise}</span>' in page


def test_a_fault_on_a_follower_is_no_alarm(tmp_path: Path) -> None:
    story = Story("r")
    begin(story)
    story.fault(Phase.INJECTING, 2, "proc.kill", "kill-2")
    story.fault(Phase.ACTIVE, 2, "proc.kill", "kill-2")
    ask_in_vain(story, BUDGET_MS + 2000)
    story.end()

    assert counted(judged(story, tmp_path)) == (Verdict.VACUOUS, 0, 0)
