"""Every kind of fault that processes can have says what it needs of an implementation."""

import pytest

from fencepost.conformance.adapters.capabilities import (
    COMMANDS_NEED,
    SETTINGS_NEED,
    as_offered,
    needed,
    needed_by,
    needed_of,
)
from fencepost.conformance.adapters.command_line import CommandLine
from fencepost.conformance.adapters.implementation import Capability
from fencepost.conformance.adapters.reference import REFERENCE
from fencepost.fault_injection.faults.catalogue import REAL_KINDS
from fencepost.fault_injection.faults.targets import FaultError, broker
from fencepost.fault_injection.faults.zookeeper_faults import ExpireSession
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
    assert COMMANDS_NEED[ControlMethod.LEADER_AND_ISR] <= REFERENCE.capabilities
    assert not COMMANDS_NEED[ControlMethod.UPDATE_METADATA] <= REFERENCE.capabilities
    assert {*COMMANDS_NEED} == {*ControlMethod}


def test_a_setting_of_a_cluster_is_a_capability_by_its_name() -> None:
    assert needed_of({"unclean_leader_election": True, "brokers": 3}) == {
        Capability.UNCLEAN_ELECTIONS
    }
    assert not needed_of({"unclean_leader_election": False})
    assert all(REFERENCE.capabilities >= need for need in SETTINGS_NEED.values())
