"""The modules of the protocol as a graph: which one reads which, and a place for each.

A module stands one column to the right of the last that it reads: values on the left, what is
composed of them on the right.
"""

from collections.abc import Container, Mapping, Sequence
from pathlib import Path

from fencepost.spec.tlc.graph.graph import Edge, Graph, StateNode, placed
from fencepost.spec.tlc.modules import head_of

APART = ("MC", "Trace")
"""Bounds and replays have a module each that they extend, and would hide the others."""
GAP_ACROSS = 52.0
TITLE = "The modules of the protocol"
NOTE = (
    "An arrow leads to the module that extends the other, or has it as an INSTANCE; "
    "what is read by no other and reads none is left out."
)
PARTS = (
    "State", "Control", "Steps", "Decisions", "Properties", "Liveness", "Reached", "Pace",
)  # fmt: skip
"""A module is cut into parts of these names, which stand in its box."""


def module_graph(folder: Path) -> Graph:
    """The modules below `folder` that are the protocol's, with places; an edge leads to a reader.

    An edge is labelled `INSTANCE` where the reader has the other's variables under a name, and not
    at all where it extends it; where all readers of a module have it so, its box says that. The
    parts of a module are one box with it.
    """
    heads = {
        path.stem: head_of(path.read_text())
        for path in sorted(folder.glob("*.tla"))
        if not path.stem.startswith(APART)
    }
    wholes = {name: _whole_of(name, heads) for name in heads}
    labels: dict[tuple[str, str], str] = {}
    for name, head in heads.items():
        for label, others in (("INSTANCE", head.instanced), ("", head.extended)):
            ends = ((wholes[other], wholes[name]) for other in others if other in heads)
            labels |= {(source, target): label for source, target in ends if source != target}
    told: dict[str, list[str]] = {}
    for (source, _), label in labels.items():
        told.setdefault(source, []).append(label)
    instanced = {name for name, found in told.items() if len(found) > 1 and all(found)}
    reads: dict[str, list[str]] = {}
    for source, target in sorted(labels):
        reads.setdefault(source, [])
        reads.setdefault(target, []).append(source)
    columns: dict[str, int] = {}
    nodes = {
        name: StateNode(
            id=name,
            values={},
            is_initial=False,
            lines=(
                name,
                *(f"  {part}" for part in wholes if wholes[part] == name != part),
                *(["  as INSTANCE"] if name in instanced else []),
            ),
            column=_column(name, reads, columns),
        )
        for name in sorted(reads)
    }
    edges = tuple(
        Edge(*ends, "" if ends[0] in instanced else label) for ends, label in sorted(labels.items())
    )
    return placed(Graph(nodes=nodes, edges=edges), gap_across=GAP_ACROSS)


def _whole_of(name: str, known: Container[str]) -> str:
    """The module of which this one is a part; itself where it is none."""
    wholes = (name.removesuffix(part) for part in PARTS if name.endswith(part))
    return next((whole for whole in wholes if whole in known), name)


def _column(name: str, reads: Mapping[str, Sequence[str]], columns: dict[str, int]) -> int:
    """One more than that of the last module that it reads; 0 without such."""
    if name not in columns:
        known = [_column(other, reads, columns) for other in reads[name]]
        columns[name] = 1 + max(known, default=-1)
    return columns[name]
