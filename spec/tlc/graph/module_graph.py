"""The modules of the protocol as a graph: which one reads which, and a place for each.

A module stands one column to the right of the last that it reads: values on the left, what is
composed of them on the right.
"""

from collections.abc import Mapping
from pathlib import Path

from fencepost.spec.tlc.graph.graph import Edge, Graph, StateNode, placed
from fencepost.spec.tlc.modules import ModuleHead, head_of

APART = ("MC", "Trace")
"""Bounds and replays have a module each that they extend, and would hide the others."""
GAP_ACROSS = 52.0
TITLE = "The modules of the protocol"
NOTE = "An arrow leads to the module that extends the other, or has it as an INSTANCE."


def module_graph(folder: Path) -> Graph:
    """The modules below `folder` that are the protocol's, with places; an edge leads to a reader.

    An edge is labelled `INSTANCE` where the reader has the other's variables under a name, and not
    at all where it extends it.
    """
    reads = {
        path.stem: head_of(path.read_text())
        for path in sorted(folder.glob("*.tla"))
        if not path.stem.startswith(APART)
    }
    columns: dict[str, int] = {}
    for name in reads:
        _column(name, reads, columns)
    edges = tuple(
        Edge(other, name, label)
        for name, read in reads.items()
        for label, others in (("", read.extended), ("INSTANCE", read.instanced))
        for other in others
        if other in reads
    )
    met = {end for edge in edges for end in (edge.source, edge.target)}
    nodes = {
        name: StateNode(id=name, values={}, is_initial=False, lines=(name,), column=columns[name])
        for name in reads
        if name in met
    }
    return placed(Graph(nodes=nodes, edges=edges), gap_across=GAP_ACROSS)


def _column(name: str, reads: Mapping[str, ModuleHead], columns: dict[str, int]) -> int:
    """One more than that of the last module that it reads; 0 without such."""
    if name not in columns:
        others = (*reads[name].extended, *reads[name].instanced)
        known = [_column(other, reads, columns) for other in others if other in reads]
        columns[name] = 1 + max(known, default=-1)
    return columns[name]
