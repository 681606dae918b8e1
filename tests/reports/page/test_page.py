"""The page says what happened, needs nothing but itself, and cannot be broken by a trace."""

import base64
import hashlib
import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from fencepost.conformance.verdict import Verdict
from fencepost.reports.analysis.aggregates import AGGREGATES
from fencepost.reports.analysis.story import grouped
from fencepost.reports.page.files import files_of
from fencepost.reports.page.page import POLICY, SCRIPT
from fencepost.reports.page.render import render
from fencepost.reports.page.words import alike, anchor
from fencepost.reports.tables.errors import ReportError
from tests.reports.aggregated import analysed, save_all
from tests.reports.stages_example import write_stages
from tests.reports.stories import Story, failover_story, truncation_story

SECTIONS = {"stages", "checks", "latency", "models", "hazards", "mutants", "requirements", "traces"}
SCRIPT_BYTES_MAX = 40_000
HOSTILE = "</script><b>\"'&{{ 7 * 7 }}\u202e"


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    stories = {
        "chaos/leader_killed": failover_story("a"),
        "chaos/truncation_loss": truncation_story("b"),
        "simulate/no_step_down": truncation_story("c", mutant="no_step_down"),
    }
    return rendered(tmp_path_factory.mktemp("failing"), stories, "FAIL")


@pytest.fixture(scope="module")
def passing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("passing")
    return rendered(folder, {"chaos/leader_killed": failover_story("a")})


def rendered(tmp_path: Path, stories: dict[str, Story], chaos: str = "PASS") -> Path:
    run = save_all(tmp_path / "run", stories)
    (run / AGGREGATES).write_bytes(analysed(run, tmp_path / "parquet").to_json())
    write_stages(run, chaos)
    return render(run)


def headline(html: str) -> str:
    found = re.search(r'<h1 id="verdict">(.*?)</h1>', html)
    assert found is not None
    return found[1]


def test_the_verdict_of_a_failing_run_is_its_gravest_loss(failing: Path) -> None:
    html = failing.read_text()

    assert headline(html) == (
        "Acknowledged record client-1/1/1 at offset 1 is lost: the final read finds client-1/2/1 "
        "there, in chaos/truncation_loss."
    )
    assert "<title>FAIL · Fencepost</title>" in html


def test_the_hazards_are_told_with_their_stories(passing: Path) -> None:
    html = passing.read_text()

    assert '<tr id="hazard-H17"' in html
    assert "violates CommittedDurable</span>" in html
    assert "fencepost check truncation_to_high_watermark" in html
    assert "not in this run" in html.partition('id="hazard-H31"')[2].partition("</tr>")[0]


def test_the_story_has_witnesses_replicas_diagram_and_command(failing: Path) -> None:
    html = failing.read_text()

    assert "The first violation: LeaderComplete" in html
    assert "fencepost chaos --story leader_killed --seed 7" in html
    assert '<span class="record missing"><i>1</i>missing</span>' in html
    assert html.count('class="picture spacetime wide"') == 1
    assert html.count('class="picture spacetime narrow"') == 1
    assert "Broker 2 became leader of epoch 1 with nothing at offset 1" in html


def test_fetches_are_arrows_above_the_rows_that_prove_the_violation(failing: Path) -> None:
    picture = failing.read_text().partition("spacetime wide")[2].partition("</svg>")[0]

    assert "<title>fetched</title>" in picture
    assert 0 < picture.rindex('class="words band"') < picture.index('class="arrow')


def test_a_mutants_run_is_expected_to_fail_and_has_no_story(failing: Path) -> None:
    html = failing.read_text()

    assert html.count('class="card story"') == 1
    assert "mutant no_step_down: expected to fail" in html


def test_rules_that_no_seed_decides_are_shown(passing: Path) -> None:
    html = passing.read_text()

    assert "3 rules of the core that are decisive in no seed of the gate" in html
    assert "96.6 %" in html, "the score of edits at random"
    assert "on_tick" in html


def test_each_thing_of_the_run_has_a_name_to_point_at(failing: Path) -> None:
    ids = {*re.findall(r'\bid="([^"]+)"', failing.read_text())}

    assert {
        "check-LeaderComplete",
        "requirement-REPL-002",
        "model-truncation_by_leader_epoch",
        "mutant-no_step_down",
        "scenario-leader_killed",
        "hazard-H17",
        "stage-spec",
        "run-chaos/truncation_loss",
    } <= ids
    assert any(name.startswith("event-chaos/truncation_loss-broker-2.1.") for name in ids)


def test_the_same_event_has_the_same_name_in_each_report(failing: Path, tmp_path: Path) -> None:
    other = rendered(tmp_path, {"chaos/truncation_loss": truncation_story("b")})

    mine, others = (
        {*re.findall(r'id="(event-[^"]+)"', page.read_text())} for page in (failing, other)
    )
    assert mine == others
    assert mine


def test_what_is_left_out_of_the_picture_is_in_the_list(failing: Path) -> None:
    html = failing.read_text()
    listed = html.partition('<ol class="steps">')[2].partition("</article>")[0]

    drawn = html.partition("spacetime wide")[2].partition("</svg>")[0]

    assert re.search(r"<summary>\d+ more events?<", listed)
    assert listed.count("<li id=") == len(
        re.findall(r'class="words(?: more)?" [^>]*data-ns', drawn)
    )
    assert listed.count('class="proof"') == drawn.count('class="ring"') == 2


def test_runs_that_broke_in_one_way_are_told_once(tmp_path: Path) -> None:
    stories = {f"chaos/loss_{n}": truncation_story(f"r{n}") for n in range(3)}
    html = rendered(tmp_path, stories, "FAIL").read_text()

    assert html.count('class="card story"') == 1
    assert "2 more runs that broke in the same way" in html
    assert {f"run-chaos/loss_{n}" for n in range(3)} <= {*re.findall(r'\bid="([^"]+)"', html)}


def test_what_lies_beside_the_page_is_linked(failing: Path) -> None:
    links = [unquote(one) for one in re.findall(r'href="(\./[^"]+)"', failing.read_text())]

    assert "./chaos/truncation_loss/trace-broker-2.ndjson" in links
    assert all((failing.parent / link).exists() for link in links)


def test_a_folder_with_an_odd_name_is_linked_too(tmp_path: Path) -> None:
    name = 'chaos/a "b" #1?'
    (tmp_path / name / "processes").mkdir(parents=True)
    (tmp_path / name / "processes" / "broker-1.log").touch()

    addresses = [link.address for link in files_of(tmp_path, name)]

    assert addresses == [
        "./chaos/a%20%22b%22%20%231%3F",
        "./chaos/a%20%22b%22%20%231%3F/processes/broker-1.log",
    ]


def test_the_timeline_ends_with_what_waited_for_the_controller(passing: Path) -> None:
    picture = passing.read_text().partition("timeline wide")[2].partition("</svg>")[0]

    assert 'class="queue"' in picture
    assert "partitions that waited for the controller" in picture


def test_the_timeline_has_the_isr_and_the_log_beside_the_leader(passing: Path) -> None:
    html = passing.read_text()
    picture = html.partition("timeline wide")[2].partition("</svg>")[0]

    assert "broker 2 leads in epoch 1" in picture
    assert re.search(r"isr \[1, 2, 3\] from \+0\.\d+ s", picture)
    assert re.search(r"isr \[2, 3\] from", picture)
    assert ">hw 4 of leo 4<" in picture
    steps = re.search(r'd="M([^"]+)" class="watermark"', picture)
    assert steps is not None
    heights = [float(y) for y in re.findall(r"V([\d.]+)", steps[1])]
    assert heights[-1] == min(heights) < heights[0]


def test_violations_of_one_cause_are_one_row(failing: Path) -> None:
    assert [len(found) for found in grouped(["a 1", "b 1", "a 22"], alike)] == [2, 1]
    assert alike("Offset 3 was read as 4.") == alike("Offset 12 was read as 5.")
    rows = failing.read_text().partition("Every invariant that this run violated")[2]
    assert rows.partition("</table>")[0].count("<tr>") >= 2


def test_names_to_point_at_are_told_apart() -> None:
    names = [("a b",), ("a-b",), ("a~20~b",), ("a\tb",), ("a", "b")]

    assert [anchor(*name) for name in names] == ["a~20~b", "a-b", "a~7e~20~7e~b", "a~9~b", "a-b"]


def test_a_single_run_is_told_in_whole_sentences(tmp_path: Path) -> None:
    run = save_all(tmp_path / "run", {".": truncation_story("a")})
    (run / AGGREGATES).write_bytes(analysed(run, tmp_path / "parquet").to_json())

    html = render(run).read_text()

    assert headline(html).endswith("the final read finds client-1/2/1 there.")
    assert "<b>1</b><span>run read</span>" in html
    assert "in The run" not in html
    assert not re.search(
        r"\b1 (?:\w+ )?(?:runs|events|requests|witnesses|violations|sentences)\b", html
    )


def test_a_passing_run_says_so_and_shows_no_broken_section(passing: Path) -> None:
    html = passing.read_text()

    assert headline(html) == "Every check held, on every run, within every budget."
    assert 'id="broken"' not in html


def test_every_section_is_there(passing: Path) -> None:
    sections = {*re.findall(r'<section id="(\w+)">', passing.read_text())}

    assert sections >= SECTIONS


def test_the_page_loads_nothing_and_runs_its_own_script_alone(failing: Path) -> None:
    html = failing.read_text()
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)

    assert f'content="{POLICY}"' in html.replace("&#39;", "'")
    assert "unsafe" not in POLICY.replace("style-src 'unsafe-inline'", "")
    assert scripts == [SCRIPT]
    assert html.count("<script") == 1
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in POLICY
    assert len(SCRIPT.encode()) <= SCRIPT_BYTES_MAX
    assert not re.search(r"""(?:src|href)=["'](?!#|data:,|\./)""", html)
    assert not re.search(r"\bon\w+=|https?://|@import|url\(", html)
    assert not re.search(r"\b(?:innerHTML|insertAdjacentHTML|eval|Function|fetch)\b", SCRIPT)


def test_a_hostile_topic_is_shown_as_text(tmp_path: Path) -> None:
    html = rendered(
        tmp_path, {"chaos/truncation_loss": truncation_story("b", topic=HOSTILE)}
    ).read_text()

    assert "<b>" not in html.replace("<b>1<", "").replace("<li><b>", "")
    assert html.count("</script>") == 1
    assert "&lt;/script&gt;&lt;b&gt;" in html
    assert "49" not in re.findall(r"&gt;&lt;b&gt;[^<]{0,40}", html)[0]


def test_the_same_input_gives_the_same_bytes(failing: Path) -> None:
    first = failing.read_bytes()

    assert render(failing.parent).read_bytes() == first


def test_no_path_of_this_machine_is_on_the_page(failing: Path) -> None:
    assert str(failing.parents[1]) not in failing.read_text()


def test_every_picture_has_a_title_and_every_id_is_unique(failing: Path) -> None:
    html = failing.read_text()
    ids = re.findall(r'\bid="([^"]+)"', html)

    assert len(ids) == len(set(ids))
    assert html.count("<svg ") == len(re.findall(r"<svg [^>]*role=\"img\"[^>]*><title>", html))


def test_without_stages_the_page_tells_what_is_missing(tmp_path: Path) -> None:
    run = save_all(tmp_path / "run", {".": failover_story("a")})
    (run / AGGREGATES).write_bytes(analysed(run, tmp_path / "parquet").to_json())

    html = render(run).read_text()

    assert "No earlier stage left its results" in html
    assert 'id="models"' not in html


def test_proofs_are_a_table_of_invariants_by_actions(tmp_path: Path) -> None:
    write_stages(tmp_path)

    html = render(tmp_path).read_text()

    section = html.partition('<section id="proofs">')[2].partition("</section>")[0]
    assert re.findall(r'title="([^"]*)"', section) == [
        "QuorumSuperset after AdoptIsr: proved",
        "QuorumSuperset after CreateTopic: untouched",
        "OneLeaderPerEpoch after AdoptIsr: unknown",
        "OneLeaderPerEpoch after CreateTopic: not tried",
    ]
    assert "H38" in section
    assert "✕</span>none" in section


def test_without_an_analysis_the_page_tells_the_stages(tmp_path: Path) -> None:
    write_stages(tmp_path)

    html = render(tmp_path).read_text()

    told = "Every check held; the traces of this run were not analysed as a whole."
    assert headline(html) == told
    assert str(Verdict.NOT_RUN) in html
    assert 'id="models"' in html
    assert not re.search(r'<section id="(checks|latency)">|href="#(checks|latency)"', html)
    assert "<b>2</b><span>scenarios</span>" in html
    assert not re.search(r"<b>0</b><span>(runs|trace|claims|violations)", html)


@pytest.mark.parametrize(
    ("stage", "headed"),
    [
        (
            {"scenarios": [{"name": "truncation_loss", "verdict": "FAIL", "message": "X: Lost."}]},
            "X: Lost, in truncation_loss.",
        ),
        (
            {"violations": [{"seed": 7, "invariant": "LogMatching", "message": "Offset 3."}]},
            "LogMatching: Offset 3, in seed 7.",
        ),
        ({}, "The stage chaos ended with FAIL: 0 of 1 scenario passed."),
    ],
)
def test_without_an_analysis_the_headline_is_what_a_stage_found(
    stage: dict[str, list[dict[str, object]]], headed: str, tmp_path: Path
) -> None:
    told = {"verdict": "FAIL", "summary": "0 of 1 scenario passed", "detail": stage}
    (tmp_path / "stages.json").write_text(json.dumps([{"stage": "chaos", **told}]))

    html = render(tmp_path).read_text()
    assert headline(html) == headed
    assert "<p>0 of 1 scenario passed.</p>" in html


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("stages.json", "[{}]", "stages.json is not what a gate leaves"),
        ("stages.json", "no json", "stages.json is not what a gate leaves"),
        ("aggregates.json", "{}", "aggregates.json is unreadable"),
    ],
)
def test_a_foreign_file_is_one_clear_sentence(
    tmp_path: Path, name: str, text: str, reason: str
) -> None:
    (tmp_path / name).write_text(text)

    with pytest.raises(ReportError, match=reason) as caught:
        render(tmp_path)

    assert "\n" not in str(caught.value)


def test_an_empty_folder_is_one_clear_sentence(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="analyse the run first"):
        render(tmp_path)
