"""Which cases may follow each other on one cluster, and by which lines each is judged."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from fencepost.conformance.suite.case import SuiteCase
from fencepost.conformance.suite.shared import (
    SESSION_MAX,
    about_others,
    can_share,
    sessions,
    with_own_topics,
)
from fencepost.fault_injection.stories.story_file import story_from_document
from fencepost.spec.trace import Kind, TraceEvent

CREATE = {"create_topic": "ledger", "replicas": [1, 2]}


def a_case(*steps: dict[str, Any], case_id: str = "isr/one", **given: Any) -> SuiteCase:  # noqa: ANN401
    document = {"schema": 1, "id": "one", "profile": "none", "steps": [CREATE, *steps], **given}
    return SuiteCase(case_id=case_id, path=Path("one.yaml"), story=story_from_document(document))


@pytest.mark.parametrize(
    "case",
    [
        a_case(),
        a_case({"until": {"leader(ledger/0)": 1}}),
        a_case(
            {"kind": "proc.kill", "target": 1}, {"kind": "proc.pause", "target": 2, "for_ms": 9}
        ),
        a_case({"note": ["controller_epoch"]}, {"until": {"controller_epoch": "+1"}}),
        a_case({"kill": 1}, cluster={"first_controller": 3}),
        a_case({"kind": "proc.bounce_fast", "target": 1}),
        a_case(
            {"id": "ends", "kind": "proc.term", "target": 1, "for_ms": 9},
            {"wait_for": {"action": "ends"}},
        ),
    ],
)
def test_topics_records_and_dead_processes_leave_a_cluster_as_it_was(case: SuiteCase) -> None:
    assert can_share(case)


@pytest.mark.parametrize(
    "case",
    [
        a_case(profile="steady"),
        a_case({"until": {"controller_epoch": 2}}),
        a_case({"until": {"topics": []}}),
        a_case({"kind": "proc.kill", "target": 1, "params": {"wipe": "all"}}),
        a_case({"kind": "disk.eio", "target": 1, "for_ms": 9}),
        a_case({"wait_for": {"event": "BecomeLeader"}}),
        a_case(cluster={"zookeeper": "ensemble"}),
    ],
)
def test_what_changes_a_cluster_needs_one_of_its_own(case: SuiteCase) -> None:
    assert not can_share(case)


def test_sessions_have_equal_clusters_and_faults_at_their_end() -> None:
    kills = a_case({"kill": 1}, case_id="isr/a-kills")
    quiet = [a_case(case_id=f"isr/{number}") for number in range(SESSION_MAX)]
    usual = a_case(case_id="isr/usual", cluster={"session_timeout_ms": 1500})
    other = a_case(case_id="isr/other", cluster={"brokers": 2})
    alone = a_case(case_id="isr/alone", profile="steady")

    found = sessions([kills, alone, other, *quiet, usual])

    assert found == [[*quiet[::2], usual, kills], quiet[1::2], [other], [alone]]


def test_a_case_that_leaves_another_controller_comes_last() -> None:
    of_three = {"first_controller": 3}
    any_one = a_case(case_id="isr/any")
    keeps = a_case({"kill": 1}, case_id="isr/keeps", cluster=of_three)
    kills_it = a_case({"kill": 3}, case_id="isr/kills-it", cluster=of_three)
    a_role = a_case({"pause": "leader(ledger/0)"}, case_id="isr/role", cluster=of_three)
    needs_none = a_case({"kill": 2}, case_id="isr/none")
    other = a_case(case_id="isr/other", cluster={"first_controller": 1})

    found = sessions([needs_none, kills_it, other, a_role, keeps, any_one])

    assert found == [[other, any_one, needs_none], [keeps, kills_it], [a_role]]


def test_names_that_no_topic_has_stay_as_they_are() -> None:
    case = a_case({"create_topic": "..", "replicas": [1], "expected": "INVALID_TOPIC"})

    story, topics = with_own_topics(case.story, 7)

    assert topics == {"ledger-7"}
    assert story.steps[1].create_topic == ".."  # type: ignore[attr-defined]


def test_topics_get_names_of_their_own_wherever_they_are_named() -> None:
    case = a_case(
        {"produce": "ledger/0", "records": ["ledger/0 is no name here"]},
        {"create_topic": "ledger-2", "replicas": [1]},
        {"until": {"leader(ledger/0)": 1, "isr(ledger-2/0)": [1]}},
        {"kind": "proc.kill", "target": "leader(ledger/0)"},
        {"znode": "/brokers/topics/ledger/partitions/0/state"},
    )

    story, topics = with_own_topics(case.story, 7)

    assert topics == {"ledger-7", "ledger-2-7"}
    create, produce, second, until, kill, znode = story.steps
    assert create.create_topic == "ledger-7"  # type: ignore[attr-defined]
    assert produce.produce == "ledger-7/0"  # type: ignore[attr-defined]
    assert second.create_topic == "ledger-2-7"  # type: ignore[attr-defined]
    assert until.until == {  # type: ignore[attr-defined]
        "leader(ledger-7/0)": 1,
        "isr(ledger-2-7/0)": (1,),
    }
    assert znode.znode == "/brokers/topics/ledger-7/partitions/0/state"  # type: ignore[attr-defined]
    assert str(kill.target) == "leader(ledger-7/0)"  # type: ignore[attr-defined]


def test_a_case_is_judged_without_the_lines_about_topics_of_others() -> None:
    def line(seq: int, **about: object) -> TraceEvent:
        usual = {"run_id": "r", "node": "n", "mono_ns": seq, "lamport": seq, "action": "x"}
        return msgspec.convert({**usual, "seq": seq, "kind": Kind.ACTION, **about}, TraceEvent)

    own, shared = line(0, topic="ledger-1"), line(1, path="/controller")
    events = [
        own,
        shared,
        line(2, topic="ledger-2"),
        line(3, path="/brokers/topics/ledger-2/partitions/0/state"),
    ]

    assert about_others(events, ["ledger-2"]) == [own, shared]
