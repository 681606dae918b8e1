"""Every kind of fault is described in full, and what can do it is there."""

import pytest

from fencepost.conformance.catalogue.requirements import load_catalogue
from fencepost.fault_injection.faults.catalogue import (
    DRAWN_FOR_REAL,
    DRAWN_KINDS,
    KINDS,
    REAL_KINDS,
    kind_of,
    require_backend,
)
from fencepost.fault_injection.faults.fault_kind import Backend, FaultKind
from fencepost.fault_injection.faults.network_faults import IsolateBroker
from fencepost.fault_injection.faults.table import as_document
from fencepost.fault_injection.faults.targets import FaultError


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.kind)
def test_a_kind_says_what_proves_it_how_it_is_undone_and_what_it_is_for(kind: FaultKind) -> None:
    assert kind.evidence
    assert kind.undo
    assert kind.requirements
    assert kind.backends
    assert all(why and not why.endswith(".") for why in kind.missing.values())
    for item in as_document(kind)["parameters"]:
        assert item["says"]
        assert item["unit"] == "ms" or not item["name"].endswith("_ms") or "none" in item["range"]


def test_requirements_of_kinds_are_in_the_catalogue() -> None:
    known = {requirement.id for requirement in load_catalogue()}

    assert {name for kind in KINDS.values() for name in kind.requirements} <= known


def test_what_is_drawn_is_there() -> None:
    assert set(DRAWN_FOR_REAL) <= REAL_KINDS
    assert KINDS.keys() >= DRAWN_KINDS


def test_a_backend_that_cannot_do_a_kind_says_why() -> None:
    kind = FaultKind(
        fault_class=IsolateBroker,
        injector="nowhere:Nothing",
        missing={Backend.SIM: "it is a test"},
        evidence="none",
        undo="nothing",
        requirements=("ISR-001",),
    )

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(KINDS, "net.isolate", kind)
        require_backend("a", "net.isolate", Backend.REAL)
        with pytest.raises(FaultError, match=r"^a: net\.isolate cannot be simulated, since it is"):
            require_backend("a", "net.isolate", Backend.SIM)
    with pytest.raises(FaultError, match=r"unknown fault .proc\.nap.; choose one of admin"):
        kind_of("proc.nap")


def test_a_document_tells_units_ranges_and_defaults() -> None:
    found = as_document(kind_of("rpc.hold"))
    parameters = {item["name"]: item for item in found["parameters"]}

    assert parameters["for_ms"] == {
        "name": "for_ms",
        "unit": "ms",
        "range": "1 or more",
        "says": "how long it lasts before it is healed",
    }
    assert parameters["receiver"]["default"] == "any"
    methods = parameters["method"]["range"].split(", ")
    assert methods == sorted(methods)
    assert {"''", "Fetch", "LeaderAndIsr", "OffsetForLeaderEpoch"} <= {*methods}
    assert found["backends"] == ["sim", "real"]
