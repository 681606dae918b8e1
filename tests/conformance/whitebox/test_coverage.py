from fencepost.conformance.whitebox.coverage import AFTERMATH_NS, CALM, coverage_of, covered
from fencepost.fault_injection.faults.catalogue import DRAWN_KINDS
from fencepost.spec.trace import Kind, Phase, TraceEvent
from fencepost.spec.vocabulary import Action


def line(mono_ns: int, kind: Kind, action: str, **fields: object) -> TraceEvent:
    return TraceEvent(
        run_id="run",
        node="node",
        seq=mono_ns,
        kind=kind,
        action=action,
        mono_ns=mono_ns,
        **fields,  # type: ignore[arg-type]
    )


def fault(mono_ns: int, phase: Phase, kind: str, fault_id: str = "f1") -> TraceEvent:
    return line(mono_ns, Kind.FAULT, kind, fault=kind, fault_id=fault_id, phase=phase)


def took(mono_ns: int, action: Action) -> TraceEvent:
    return line(mono_ns, Kind.ACTION, action.value)


def test_an_action_is_paired_with_each_fault_that_is_about() -> None:
    events = [
        took(1, Action.ELECT_CONTROLLER),
        fault(2, Phase.INJECTING, "proc.pause"),
        took(3, Action.CREATE_TOPIC),
        fault(4, Phase.ACTIVE, "proc.pause"),
        fault(5, Phase.ACTIVE, "zk.cut", "f2"),
        took(6, Action.ELECT_LEADER),
        fault(7, Phase.HEALING, "proc.pause"),
        fault(8, Phase.HEALING, "zk.cut", "f2"),
        took(7 + AFTERMATH_NS, Action.BECOME_LEADER),
        took(8 + AFTERMATH_NS, Action.SHRINK_ISR),
        took(9 + AFTERMATH_NS, Action.EXPAND_ISR),
    ]

    assert covered(events) == {
        (CALM, "ElectController"),
        (CALM, "CreateTopic"),
        ("proc.pause", "ElectLeader"),
        ("zk.cut", "ElectLeader"),
        ("proc.pause", "BecomeLeader"),
        ("zk.cut", "BecomeLeader"),
        ("zk.cut", "ShrinkIsr"),
        (CALM, "ExpandIsr"),
    }


def test_a_fault_without_effect_is_about_at_no_time() -> None:
    events = [
        fault(1, Phase.INJECTING, "proc.pause"),
        fault(2, Phase.INEFFECTIVE, "proc.pause"),
        took(3, Action.ELECT_LEADER),
    ]

    assert covered(events) == {(CALM, "ElectLeader")}


def test_what_no_seed_reached_is_listed() -> None:
    found = coverage_of(
        [
            frozenset({(CALM, "ElectLeader"), ("zk.cut", "ElectLeader")}),
            frozenset({("zk.cut", "ElectLeader")}),
        ]
    )

    assert (found.seeds, found.actions["ElectLeader"]) == (2, 2)
    assert found.pairs == {("", "ElectLeader"): 1, ("zk.cut", "ElectLeader"): 2}
    assert set(found.unreached) == {action.value for action in Action} - {"ElectLeader"}
    assert set(found.missing) == {(kind, "ElectLeader") for kind in DRAWN_KINDS - {"zk.cut"}}
    told = found.as_json()
    assert told["missing_pairs"] == len(DRAWN_KINDS) - 1
    assert isinstance(told["actions"], dict)
    assert told["actions"]["ElectLeader"] == {"seeds": 2, "faults": {"none": 1, "zk.cut": 2}}
