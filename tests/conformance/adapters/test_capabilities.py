"""Every kind of fault that processes can have says what it needs of an implementation."""

from dataclasses import fields
from typing import Any

import pytest

from fencepost.conformance.adapters.capabilities import (
    NEEDED,
    as_offered,
    asked_by,
    needed,
    needed_by,
    needed_of,
)
from fencepost.conformance.adapters.command_line import CommandLine
from fencepost.conformance.adapters.implementation import Capability
from fencepost.conformance.adapters.reference import REFERENCE
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.scenarios.process_steps import PROCESS_STEPS
from fencepost.fault_injection.faults.catalogue import REAL_KINDS
from fencepost.fault_injection.faults.targets import FaultError, broker
from fencepost.fault_injection.faults.zookeeper_faults import ExpireSession
from fencepost.fault_injection.stories.steps.observation import OBSERVATIONS
from fencepost.fault_injection.stories.story_file import story_from_document
from fencepost.fault_injection.workload.commands import ControlMethod


def test_the_reference_can_have_every_fault() -> None:
    assert needed(sorted(REAL_KINDS)) <= REFERENCE.capabilities


def test_needs_of_several_kinds_are_those_of_each() -> None:
    kinds = ["proc.kill", "proc.pause", "zk.expire"]

    assert needed(kinds) == {Capability.PROCESSES, Capability.ZOOKEEPER}
    assert not needed(["proc.kill", "load.burst"])


def test_a_session_that_the_server_ends_needs_no_word_of_its_owner() -> None:
    asked, ended = (ExpireSession(target=broker(1), mode=mode) for mode in ("duplicate", "server"))
    outside = CommandLine(command="broker")

    assert needed_by([asked]) == {Capability.ZOOKEEPER, Capability.FAULT_CONTROL}
    assert needed_by([ended]) == {Capability.ZOOKEEPER}
    assert as_offered(outside, asked) == ended
    assert as_offered(REFERENCE, asked) == asked


def test_a_kind_of_which_nothing_is_known_is_refused_in_a_sentence() -> None:
    with pytest.raises(FaultError, match=r"unknown fault 'moon.eclipse': .* add its area"):
        needed(["proc.kill", "moon.eclipse"])


def test_commands_are_a_capability_of_their_own_and_those_that_the_core_lacks_another() -> None:
    extra = {
        method: needed([f"command.{method}"]) - {Capability.CONTROL} for method in ControlMethod
    }

    assert extra == {
        ControlMethod.LEADER_AND_ISR: set(),
        ControlMethod.STOP_REPLICA: set(),
        ControlMethod.UPDATE_METADATA: {Capability.UPDATE_METADATA},
        ControlMethod.CONTROLLED_SHUTDOWN: {Capability.CONTROLLED_SHUTDOWN},
    }


CREATED = {"create_topic": "t", "replicas": [1]}
DELETED, DOWN = {"delete_topic": "t"}, {"kind": "proc.kill", "id": "down", "target": 1, "for_ms": 9}


@pytest.mark.parametrize(
    ("steps", "needs"),
    [
        ([CREATED, {"produce": "t/0", "records": ["a"]}, {"kill": 1}, {"restart": 1}], set()),
        ([{"pause": 1}], {Capability.PROCESSES}),
        ([{"expire": 1}], {Capability.ZOOKEEPER, Capability.FAULT_CONTROL}),
        ([{"znode": "/controller"}], {Capability.ZOOKEEPER}),
        ([{"until": {"leader(t/0)": 1}}], set()),
        ([{"until": {"controller_at(1)": 2}}], {Capability.ZOOKEEPER}),
        ([{"note": ["controller_epoch"]}], {Capability.ZOOKEEPER}),
        ([{"consume": "t/0"}], set()),
        ([{"consume": "t/0", "leader_epoch": 1}], {Capability.FETCH_EPOCHS}),
        ([{"wait_for": {"event": "BecomeLeader"}}], {Capability.LIVE_TRACE}),
        ([CREATED, DELETED], set()),
        ([CREATED, DELETED, CREATED], {Capability.INCARNATIONS}),
        ([CREATED, DOWN, DELETED], {Capability.PROMPT_DELETION}),
        ([CREATED, DOWN, {**DELETED, "wait": False}], set()),
        ([CREATED, DOWN, {"heal": "down"}, DELETED], set()),
        ([CREATED, DELETED, DOWN], set()),
        ([{"kind": "proc.pause", "target": 1, "for_ms": 9}], {Capability.PROCESSES}),
    ],
)
def test_each_step_says_what_it_needs(steps: list[dict[str, Any]], needs: set[Capability]) -> None:
    document = {"schema": 1, "id": "one", "profile": "none", "steps": steps}

    assert needed(asked_by(story_from_document(document))) == needs


def test_no_row_of_the_table_is_misspelt() -> None:
    verbs = {next(iter(step.__annotations__)) for step in PROCESS_STEPS}
    known = {
        *REAL_KINDS,
        "zk.expire.asked",
        "proc.rolling.upgrade",
        *(f"step.{verb}" for verb in verbs),
        *(f"see.{name}" for name in OBSERVATIONS),
        *(f"command.{method}" for method in ControlMethod),
        *(f"setting.{one.name}" for one in fields(ClusterSettings)),
        "fetch.leader_epoch",
        "produce.producer_id",
        "await.line",
        "topic.again",
        "topic.prompt_deletion",
    }

    assert [row for row in NEEDED if not any(name.startswith(row) for name in known)] == []


def test_a_setting_of_a_cluster_is_a_capability_by_its_name() -> None:
    assert needed_of({"unclean_leader_election": True, "brokers": 3}) == {
        Capability.UNCLEAN_ELECTIONS
    }
    assert not needed_of({"unclean_leader_election": False})
