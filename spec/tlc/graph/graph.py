"""The reachable states of a small model as a graph, and a place for each on a sheet.

TLC writes the graph as it searches (`-dump dot`). A state stands in the column of its distance from
an initial state, and in it where its neighbours are (barycentres): a search is wide and not deep,
and a page is scrolled downwards.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from fencepost.spec.scratch import scratch_folder
from fencepost.spec.tlc.counterexample import changes_at
from fencepost.spec.tlc.java.output import TlcFinding, read_state
from fencepost.spec.tlc.models import Model, ModelError, ModelVerdict
from fencepost.spec.tlc.runner import TlcOptions, findings
from fencepost.spec.tlc.values import Value

STATES_MAX = 300
"""More is no picture any more."""

SWEEPS = 8
LINES_MAX = 5
LINE_LENGTH_MAX = 44
CHARACTER_WIDTH = 6.1
LINE_HEIGHT = 13.0
GAP_ACROSS = 150.0
GAP_DOWN = 18.0

_NODE = re.compile(r'^(-?\d+) \[label="((?:[^"\\]|\\.)*)"(.*)\]$')
_EDGE = re.compile(r'^(-?\d+) -> (-?\d+) \[label="([^"]*)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class StateNode:
    """A state: what is written into its box, and where the box is (its centre)."""

    id: str
    values: Mapping[str, Value]
    is_initial: bool
    is_violating: bool = False
    lines: tuple[str, ...] = ()
    column: int = 0
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        """Of the box."""
        return CHARACTER_WIDTH * max(4, *map(len, self.lines)) + 14

    @property
    def height(self) -> float:
        """Of the box."""
        return LINE_HEIGHT * len(self.lines) + 10


@dataclass(frozen=True, slots=True)
class Edge:
    """The actions that lead from one state to another."""

    source: str
    target: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """States by id, and steps."""

    nodes: Mapping[str, StateNode]
    edges: tuple[Edge, ...]


def state_graph(model: Model, options: TlcOptions) -> tuple[Graph, TlcFinding]:
    """The graph of the states that TLC sees, with places; raises `ModelError` if too large."""
    if model.distinct_states > STATES_MAX:
        raise ModelError(_too_large(model.name, model.distinct_states))
    with scratch_folder("tlc") as directory:
        path = directory / "states.dot"
        asked = replace(options, tlc_options=("-dump", "dot,actionlabels", str(path)))
        (finding,) = findings([model], options=asked)
        if finding.verdict not in {ModelVerdict.HOLDS, ModelVerdict.VIOLATES}:
            why = finding.error or f"ended as {finding.verdict}"
            raise ModelError(f"model {model.name} has no graph: {why}")
        if finding.counts.distinct > STATES_MAX:
            raise ModelError(_too_large(model.name, finding.counts.distinct))
        graph = read_graph(path.read_text())
    if finding.counterexample is not None:
        last = finding.counterexample.states[-1].values
        graph = replace(graph, nodes={n.id: _marked(n, last) for n in graph.nodes.values()})
    return placed(labelled(graph)), finding


def _too_large(name: str, states: int) -> str:
    return (
        f"model {name} has {states:,} states, and a picture of more than {STATES_MAX} shows "
        "nothing; lower its bounds or choose a smaller model"
    )


def _marked(node: StateNode, violating: Mapping[str, Value]) -> StateNode:
    return replace(node, is_violating=dict(node.values) == dict(violating))


def read_graph(text: str) -> Graph:
    """The graph in a file that TLC wrote."""
    nodes: dict[str, StateNode] = {}
    labels: dict[tuple[str, str], list[str]] = {}
    for line in text.splitlines():
        told = line.strip().rstrip(";")
        if edge := _EDGE.match(told):
            actions = labels.setdefault((edge[1], edge[2]), [])
            actions += [edge[3]] if edge[3] not in actions else []
        elif node := _NODE.match(told):
            values = read_state(re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], node[2]))
            nodes[node[1]] = StateNode(id=node[1], values=values, is_initial="filled" in node[3])
    edges = tuple(Edge(*ends, ", ".join(actions)) for ends, actions in labels.items())
    return Graph(nodes=nodes, edges=tuple(e for e in edges if {e.source, e.target} <= set(nodes)))


def labelled(graph: Graph) -> Graph:
    """Each state with its column, and what differs from the state that it was first seen from."""
    parents = _first_seen_from(graph)
    columns: dict[str, int] = {}
    nodes: dict[str, StateNode] = {}
    for id_, parent in parents.items():
        node = graph.nodes[id_]
        columns[id_] = columns[parent] + 1 if parent else 0
        before = graph.nodes[parent].values if parent else None
        nodes[id_] = replace(node, column=columns[id_], lines=_lines(before, node.values))
    edges = tuple(e for e in graph.edges if e.source in nodes and e.source != e.target)
    return Graph(nodes=nodes, edges=edges)


def _first_seen_from(graph: Graph) -> dict[str, str]:
    """State -> the one before it on a shortest way, in breadth-first order; initial ones: ''."""
    following: dict[str, list[str]] = {}
    for edge in graph.edges:
        following.setdefault(edge.source, []).append(edge.target)
    parents = {node.id: "" for node in graph.nodes.values() if node.is_initial}
    waiting = list(parents)
    for id_ in waiting:
        for target in following.get(id_, []):
            if target not in parents:
                parents[target] = id_
                waiting.append(target)
    return parents


def _lines(before: Mapping[str, Value] | None, after: Mapping[str, Value]) -> tuple[str, ...]:
    if before is None:
        return ("Init",)
    told = [f"{c.place}: {c.after}" for c in changes_at("", dict(before), dict(after))]
    short = [
        line[: LINE_LENGTH_MAX - 1] + "…" if len(line) > LINE_LENGTH_MAX else line for line in told
    ]
    left = len(short) - LINES_MAX
    return tuple(short if left <= 0 else [*short[:LINES_MAX], f"and {left} more"])


def placed(graph: Graph, *, gap_across: float = GAP_ACROSS) -> Graph:
    """Each state with a place: columns from the left, no boxes that overlap."""
    columns: dict[int, list[str]] = {}
    for node in graph.nodes.values():
        columns.setdefault(node.column, []).append(node.id)
    neighbours: dict[str, list[str]] = {id_: [] for id_ in graph.nodes}
    for edge in graph.edges:
        neighbours[edge.source].append(edge.target)
        neighbours[edge.target].append(edge.source)
    y: dict[str, float] = {}
    for ids in columns.values():
        y |= _spread(ids, {}, graph.nodes)
    for sweep in range(SWEEPS):
        for column in sorted(columns, reverse=sweep % 2 == 1):
            wanted = {
                id_: _barycentre(y[id_], [y[other] for other in neighbours[id_]])
                for id_ in columns[column]
            }
            columns[column] = sorted(wanted, key=wanted.__getitem__)
            y |= _spread(columns[column], wanted, graph.nodes)
    x = _lefts(columns, graph.nodes, gap_across)
    top = min((y[n.id] - n.height / 2 for n in graph.nodes.values()), default=0.0)
    nodes = {
        n.id: replace(n, x=x[n.column] + n.width / 2, y=y[n.id] - top) for n in graph.nodes.values()
    }
    return replace(graph, nodes=nodes)


def _barycentre(own: float, others: list[float]) -> float:
    return sum(others) / len(others) if others else own


def _spread(
    ids: list[str], wanted: Mapping[str, float], nodes: Mapping[str, StateNode]
) -> dict[str, float]:
    """Heights in the given order, as near to those wanted as boxes allow."""
    y: dict[str, float] = {}
    for before, id_ in pairwise(["", *ids]):
        room = (nodes[before].height + nodes[id_].height) / 2 + GAP_DOWN if before else 0.0
        nearest = y[before] + room if before else wanted.get(id_, 0.0)
        y[id_] = max(nearest, wanted.get(id_, nearest))
    aim = [wanted.get(id_, 0.0) for id_ in ids]
    shift = (sum(aim) - sum(y.values())) / len(ids)
    return {id_: place + shift for id_, place in y.items()}


def _lefts(
    columns: Mapping[int, Iterable[str]], nodes: Mapping[str, StateNode], gap_across: float
) -> dict[int, float]:
    x: dict[int, float] = {}
    left = 0.0
    for column in sorted(columns):
        x[column] = left
        left += max(nodes[id_].width for id_ in columns[column]) + gap_across
    return x
