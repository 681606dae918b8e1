"""Runs of implementations that show only some of what happens."""

import json
from pathlib import Path

from msgspec.structs import replace

from fencepost.conformance.verdict import Verdict
from fencepost.reports.analysis.aggregates import AGGREGATES, Analysis
from fencepost.reports.page.render import render
from fencepost.spec.vocabulary import Invariant
from tests.reports.aggregated import analysed, save_all
from tests.reports.stories import Story, failover_story, truncation_story

OF_KAFKA = {
    "clients": "exact",
    "elections": "exact",
    "roles": "log",
    "appends": "disk",
    "high_watermarks": "log",
    "state_writes": "exact",
}
"""What a release of Kafka shows with ZooKeeper."""
CLIENTS_ALONE = {"clients": "exact"}


def observed(story: Story, observes: dict[str, str]) -> Story:
    """As another implementation shows the story: no answer to Produce names a leader epoch."""
    for place, event in enumerate(story.events):
        if event.action == "RunStarted":
            told = json.loads(event.detail or "") | {"observes": observes}
            story.events[place] = replace(event, detail=json.dumps(told))
        if event.action == "Produce":
            story.events[place] = replace(event, leader_epoch=None)
    if observes == CLIENTS_ALONE:
        story.events = [one for one in story.events if not one.node.startswith("broker-")]
    return story


def judged(story: Story, tmp_path: Path) -> Analysis:
    return analysed(save_all(tmp_path / "run", {"chaos/a": story}), tmp_path / "scratch")


def failed(analysis: Analysis) -> set[Invariant]:
    return {check.invariant for folder in analysis.folders for check in folder.failed}


def out_of_step() -> Story:
    """A follower appends before its log tells that it follows: they are read apart."""
    story = failover_story("r")
    told = next(n for n, event in enumerate(story.events) if event.action == "BecomeFollower")
    own = [n for n, e in enumerate(story.events) if e.node == story.events[told].node and n > told]
    append = next(n for n in own if story.events[n].action == "FollowerAppend")
    first, later = story.events[told], story.events[append]
    story.events[told] = replace(later, seq=first.seq, mono_ns=first.mono_ns)
    story.events[append] = replace(first, seq=later.seq, mono_ns=later.mono_ns)
    return story


def test_what_is_read_apart_violates_no_check_that_compares_it(tmp_path: Path) -> None:
    exact = judged(out_of_step(), tmp_path / "exact")
    apart = judged(observed(out_of_step(), OF_KAFKA), tmp_path / "apart")

    assert Invariant.ACTS_IN_ITS_ROLE in failed(exact)
    assert exact.verdicts["checks"] is Verdict.FAIL
    assert failed(apart) == set()
    assert apart.verdicts == dict.fromkeys(("checks", "traces", "failover"), Verdict.PASS)
    assert Invariant.ACTS_IN_ITS_ROLE not in {check.invariant for check in apart.checks}


def test_what_is_seen_well_enough_is_violated_all_the_same(tmp_path: Path) -> None:
    analysis = judged(observed(truncation_story("r"), OF_KAFKA), tmp_path)

    assert Invariant.ACKNOWLEDGED_DURABLE in failed(analysis)
    assert analysis.verdicts["checks"] is Verdict.FAIL


def test_an_answer_without_a_leader_epoch_ends_the_failover_of_its_broker(tmp_path: Path) -> None:
    named = judged(failover_story("r"), tmp_path / "named")
    unnamed = judged(observed(failover_story("r"), OF_KAFKA), tmp_path / "unnamed")

    assert named.failover.complete == 1
    assert unnamed.failover == named.failover


def test_clients_alone_decide_what_they_can_and_no_broker_is_missed(tmp_path: Path) -> None:
    analysis = judged(observed(failover_story("r"), CLIENTS_ALONE), tmp_path)

    assert {check.invariant for check in analysis.checks} >= {
        Invariant.LINEARIZABLE_LOG,
        Invariant.ACKNOWLEDGED_DURABLE,
    }
    assert analysis.verdicts == {
        "checks": Verdict.PASS,
        "traces": Verdict.PASS,
        "failover": Verdict.NOT_OBSERVABLE,
    }
    (tmp_path / "run" / AGGREGATES).write_bytes(analysis.to_json())
    assert "Nothing tells which broker leads" in render(tmp_path / "run").read_text()


def unnumbered(story: Story, implementation: str) -> Story:
    """Of an implementation without numbers of producers."""
    for place, event in enumerate(story.events):
        if event.action == "RunStarted":
            told = json.loads(event.detail or "") | {"implementation": implementation}
            story.events[place] = replace(event, detail=json.dumps(told))
        else:
            story.events[place] = replace(event, producer_id=None)
    return story


def test_only_the_reference_promises_features_that_an_implementation_may_lack(
    tmp_path: Path,
) -> None:
    numbers = Invariant.SEQUENCES_IN_ORDER

    of_reference, of_other = (
        judged(unnumbered(failover_story("r"), name), tmp_path / name)
        for name in ("reference", "mine 0.1")
    )

    told = {check.invariant: check.verdict for check in of_reference.checks}
    assert told.pop(numbers) is Verdict.VACUOUS
    assert {check.invariant: check.verdict for check in of_other.checks} == told
