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
