"""Every kind of fault that processes can have says what it needs of an implementation."""

from fencepost.conformance.adapters.capabilities import needed
from fencepost.conformance.adapters.implementation import Capability
from fencepost.conformance.adapters.reference import REFERENCE
from fencepost.fault_injection.faults.catalogue import REAL_KINDS


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
