"""The picture of the modules."""

from pathlib import Path

from fencepost.spec.tlc.graph.module_graph import module_graph


def write_modules(folder: Path, **heads: str) -> Path:
    for name, head in heads.items():
        (folder / f"{name}.tla").write_text(f"---- MODULE {name} ----\n{head}\n====\n")
    return folder


def test_a_module_stands_right_of_all_that_it_reads(tmp_path: Path) -> None:
    found = module_graph(
        write_modules(
            tmp_path,
            Values="EXTENDS Integers",
            State="EXTENDS Values",
            Whole="EXTENDS Values\nPart == INSTANCE State",
        )
    )

    assert {id_: node.column for id_, node in found.nodes.items()} == {
        "Values": 0,
        "State": 1,
        "Whole": 2,
    }
    assert {(edge.source, edge.target, edge.label) for edge in found.edges} == {
        ("Values", "State", ""),
        ("Values", "Whole", ""),
        ("State", "Whole", "INSTANCE"),
    }


def test_bounds_replays_and_modules_on_their_own_are_left_out(tmp_path: Path) -> None:
    found = module_graph(
        write_modules(
            tmp_path,
            Values="",
            State="EXTENDS Values",
            MCState="EXTENDS State",
            TraceState="EXTENDS State",
            Alone="EXTENDS Integers",
        )
    )

    assert sorted(found.nodes) == ["State", "Values"]


def test_the_parts_of_a_module_stand_in_its_box(tmp_path: Path) -> None:
    found = module_graph(
        write_modules(
            tmp_path,
            Values="",
            WholeState="EXTENDS Values",
            Whole="EXTENDS WholeState",
            WholeSteps="EXTENDS Whole",
            Other="EXTENDS WholeSteps",
            LoneState="EXTENDS Values",
        )
    )

    assert {id_: node.lines for id_, node in found.nodes.items()} == {
        "LoneState": ("LoneState",),
        "Other": ("Other",),
        "Values": ("Values",),
        "Whole": ("Whole", "  WholeState", "  WholeSteps"),
    }
    assert sorted((edge.source, edge.target) for edge in found.edges) == [
        ("Values", "LoneState"),
        ("Values", "Whole"),
        ("Whole", "Other"),
    ]


def test_what_all_have_as_an_instance_says_so_itself(tmp_path: Path) -> None:
    found = module_graph(
        write_modules(tmp_path, Shape="", One="S == INSTANCE Shape", Other="S == INSTANCE Shape")
    )

    assert found.nodes["Shape"].lines == ("Shape", "  as INSTANCE")
    assert {edge.label for edge in found.edges} == {""}
