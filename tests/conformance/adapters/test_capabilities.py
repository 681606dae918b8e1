"""Every kind of fault that processes can have says what it needs of an implementation."""

import pytest

from fencepost.conformance.adapters.capabilities import needed
from fencepost.conformance.adapters.implementation import Capability
from fencepost.conformance.adapters.reference import REFERENCE
from fencepost.fault_injection.faults.catalogue import REAL_KINDS
from fencepost.fault_injection.faults.targets import FaultError


def test_the_reference_can_have_every_fault() -> None:
    assert needed(sorted(REAL_KINDS)) <= REFERENCE.capabilities


def test_needs_of_several_kinds_are_those_of_each() -> None:
    kinds = ["proc.kill", "proc.pause", "zk.expire"]

    assert needed(kinds) == {
        Capability.PROCESSES,
        Capability.ZOOKEEPER,
        Capability.FAULT_CONTROL,
    }
    assert not needed(["proc.kill", "load.burst"])


def test_a_kind_of_which_nothing_is_known_is_refused_in_a_sentence() -> None:
    with pytest.raises(FaultError, match=r"unknown fault 'moon.eclipse': .* add its area"):
        needed(["proc.kill", "moon.eclipse"])
