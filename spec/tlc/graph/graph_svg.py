"""A state graph as one SVG file that needs nothing else."""

from html import escape

from fencepost.spec.tlc.counterexample import shown
from fencepost.spec.tlc.graph.graph import LINE_HEIGHT, Edge, Graph, StateNode

MARGIN = 30.0
HEAD = 50.0
REACH = 60.0
"""How far a step back swings out."""
STYLE = """
svg { background: #fff; font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 10px; }
.box { fill: #f7f9fb; stroke: #9fb0c0; }
.initial .box { fill: #e6f2ea; stroke: #2f7d4f; stroke-width: 2; }
.violating .box { fill: #fdeaea; stroke: #b3261e; stroke-width: 2; }
.edge { fill: none; stroke: #8a97a5; }
.back { stroke-dasharray: 4 3; }
.action { fill: #34556f; font-family: sans-serif; }
.action { paint-order: stroke; stroke: #fff; stroke-width: 3; }
.title { font-family: sans-serif; font-size: 15px; font-weight: 600; }
.note { font-family: sans-serif; font-size: 11px; fill: #5a6672; }
"""
ARROW = (
    '<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto-start-reverse"><path d="M0 0 8 4 0 8z" fill="#8a97a5"/></marker>'
)


def draw(graph: Graph, *, title: str, note: str) -> str:
    """The text of the file."""
    width = max((n.x + n.width / 2 for n in graph.nodes.values()), default=0.0) + 2 * MARGIN
    height = max((n.y + n.height / 2 for n in graph.nodes.values()), default=0.0) + 2 * MARGIN
    width = max(width, 9.0 * len(title), 6.0 * len(note)) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" '
        f'height="{height + HEAD:.0f}">',
        f"<title>{escape(title)}</title><style>{STYLE}</style><defs>{ARROW}</defs>",
        f'<text class="title" x="{MARGIN}" y="26">{escape(title)}</text>',
        f'<text class="note" x="{MARGIN}" y="44">{escape(note)}</text>',
        f'<g transform="translate({MARGIN} {MARGIN + HEAD})">',
        *(_edge(edge, graph) for edge in graph.edges),
        *(_node(node) for node in graph.nodes.values()),
        *(_action(edge, graph) for edge in graph.edges),
        "</g></svg>",
    ]
    return "\n".join(parts) + "\n"


def _node(node: StateNode) -> str:
    kind = "violating" if node.is_violating else "initial" if node.is_initial else "state"
    left, top = node.x - node.width / 2, node.y - node.height / 2
    values = "\n".join(f"{name} = {shown(value)}" for name, value in node.values.items())
    lines = "".join(
        f'<tspan x="{left + 7:.1f}" y="{top + 5 + LINE_HEIGHT * (number + 0.75):.1f}">'
        f"{escape(line)}</tspan>"
        for number, line in enumerate(node.lines)
    )
    return (
        f'<g class="{kind}"><title>{escape(values)}</title>'
        f'<rect class="box" x="{left:.1f}" y="{top:.1f}" width="{node.width:.1f}" '
        f'height="{node.height:.1f}" rx="5"/><text>{lines}</text></g>'
    )


def _is_forward(edge: Edge, graph: Graph) -> bool:
    return graph.nodes[edge.target].column > graph.nodes[edge.source].column


def _ends(edge: Edge, graph: Graph) -> tuple[float, float, float, float]:
    """From the right side of one box to the left of the other; a step back leaves on the left."""
    source, target = graph.nodes[edge.source], graph.nodes[edge.target]
    side = 1 if _is_forward(edge, graph) else -1
    end = side if source.column != target.column else -side
    return (
        source.x + side * source.width / 2,
        source.y,
        target.x - end * target.width / 2,
        target.y,
    )


def _edge(edge: Edge, graph: Graph) -> str:
    x1, y1, x2, y2 = _ends(edge, graph)
    forward = _is_forward(edge, graph)
    bend = (x2 - x1) / 2 if forward else -REACH
    points = ((x1 + bend, y1), (x2 - bend if x1 != x2 else x2 + bend, y2), (x2, y2))
    curve = " ".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return (
        f'<path class="edge{"" if forward else " back"}" marker-end="url(#arrow)" '
        f'd="M{x1:.1f} {y1:.1f}C{curve}"/>'
    )


def _action(edge: Edge, graph: Graph) -> str:
    x1, y1, x2, y2 = _ends(edge, graph)
    part = 0.6 if _is_forward(edge, graph) else 0.4
    x = x1 + (x2 - x1) * part - (0 if x1 != x2 else REACH / 2)
    y = y1 + (y2 - y1) * part
    place = f'text-anchor="middle" x="{x:.1f}" y="{y + 3:.1f}"'
    return f'<text class="action" {place}>{escape(edge.label)}</text>'
