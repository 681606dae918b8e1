"""The report tells what happened in a run: the targets, what the cluster did, what clients saw."""

from dataclasses import replace
from pathlib import Path

from fencepost.reports.analysis.metrics import occurrences
from fencepost.reports.analysis.narrative import Moment, Voice, moments
from fencepost.reports.analysis.tenures import Leadership, SharedRow, Turn, Writes
from fencepost.reports.page.page import page_html
from fencepost.reports.page.summary import summarise
from fencepost.spec.trace import Phase
from tests.reports.aggregated import analysed, save_all
from tests.reports.stories import failover_story

MS = 1_000_000


def fault(phase: Phase, at_ms: int, says: str = "") -> SharedRow:
    row = dict.fromkeys(SharedRow.__dataclass_fields__)
    told = {"folder": 0, "action": "Fault", "node": "harness", "mono_ns": at_ms * MS, "says": says}
    of = {"fault_id": "f", "fault": "proc.pause", "phase": phase, "broker_id": 1}
    return SharedRow(**(row | told | of))  # type: ignore[arg-type]


PAUSE = (
    fault(Phase.INJECTING, 100),
    fault(Phase.ACTIVE, 105, "process 7 in state T"),
    fault(Phase.HEALING, 500),
    fault(Phase.HEALED, 510, "registered again"),
)
SPAN_NS = (0, 2400 * MS)


def of(leadership: Leadership) -> list[tuple[int, str, str]]:
    told = moments(occurrences(leadership.shared), SPAN_NS, leadership)
    return [(m.at_ns // MS, str(m.voice), m.text) for m in told]


def test_failover_is_told_from_the_kill_to_the_first_write_after_it(tmp_path: Path) -> None:
    run = save_all(tmp_path / "run", {"killed": failover_story("killed-0")})

    (timeline,) = analysed(run, tmp_path / "scratch").timelines

    assert [m.text for m in timeline.moments][3:] == [
        "proc.kill begins on broker 1, leader of orders/0.",
        "proc.kill has taken effect.",
        "Alive, as the controller sees it: 2 and 3.",
        "Broker 2 leads orders/0 in epoch 1 instead of broker 1.",
        "orders/0 takes writes again, 1.62 s after the last one.",
        "During proc.kill: 1 record acknowledged.",
        "proc.kill is being undone.",
        "proc.kill is over.",
    ]


def test_proof_stands_beside_what_it_proves() -> None:
    told = of(Leadership(shared=PAUSE))

    assert (105, "fault", "proc.pause has taken effect: process 7 in state T.") in told
    assert (510, "fault", "proc.pause is over: registered again.") in told


def test_what_happens_in_an_instant_is_one_sentence() -> None:
    shared = (
        fault(Phase.INJECTING, 100),
        fault(Phase.ACTIVE, 100, "process 7 in state T"),
        fault(Phase.HEALING, 500),
        fault(Phase.HEALED, 500),
    )

    assert [text for _, voice, text in of(Leadership(shared=shared)) if voice == "fault"] == [
        "proc.pause begins on broker 1 and has taken effect: process 7 in state T.",
        "proc.pause is over.",
    ]


def test_writes_without_an_answer_are_counted_while_the_fault_lasts() -> None:
    writes = Writes(
        folder=0,
        topic="t",
        partition=0,
        columns=(9, 10, 50, 51),
        records=(2, 2, 2, 2),
        unanswered=(1, 1, 1, 1),
    )

    told = of(Leadership(shared=PAUSE, writes=(writes,)))

    # A column is 10 ms: those of 100 and 500 ms count, those before and after do not.
    words = "During proc.pause: 4 records acknowledged and 2 writes left without an answer."
    assert (500, "clients", words) in told


def test_what_replicas_learn_is_told() -> None:
    turn = Turn(folder=0, topic="t", partition=0, mono_ns=200 * MS, broker_id=2, action="AdoptIsr")
    turns = (
        replace(turn, isr=(2, 3)),
        replace(turn, mono_ns=300 * MS, action="TruncateLog", offset=12),
        replace(turn, mono_ns=400 * MS, action="FenceLeader"),
    )

    told = of(Leadership(shared=PAUSE, turns=turns))

    assert [text for at_ms, _, text in told if at_ms in (200, 300, 400)] == [
        "Broker 2 has a new ISR for t/0: 2 and 3.",
        "Broker 2 truncates its log of t/0 to end at offset 12.",
        "Broker 2 learns that it no longer leads t/0.",
    ]


def test_end_of_the_brokers_is_no_part_of_it() -> None:
    late = Turn(folder=0, topic="t", partition=0, mono_ns=2000 * MS, broker_id=2, action="AdoptIsr")

    told = of(Leadership(shared=PAUSE, turns=(late,)))

    assert told[-1] == (510, "fault", "proc.pause is over: registered again.")
    assert told[-2] == (510, "clients", "The clients are done; next the brokers are ended.")


def test_run_without_faults_needs_no_words() -> None:
    turn = Turn(folder=0, topic="t", partition=0, mono_ns=200 * MS, broker_id=2, action="AdoptIsr")

    assert of(Leadership(turns=(turn,))) == []


def test_page_shows_the_sentences(tmp_path: Path) -> None:
    run = save_all(tmp_path / "run", {"killed": failover_story("killed-0")})
    analysis = analysed(run, tmp_path / "scratch")

    page = page_html(summarise(analysis, (), (), ()))

    assert "<details open><summary>What happened, in 11 sentences</summary>" in page
    assert ">proc.kill begins on broker 1, leader of orders/0.</td>" in page


def test_moments_of_one_instant_have_one_order() -> None:
    first = Moment(at_ns=1, voice=Voice.CLUSTER, text="a")

    assert first < replace(first, voice=Voice.FAULT) < replace(first, at_ns=2)
