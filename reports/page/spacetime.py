"""The space-time diagram of a violation: a lane per node, time downwards, messages across."""

from collections.abc import Callable, Iterable, Sequence

from markupsafe import Markup

from fencepost.reports.analysis.evidence import DiagramStep, ViolationContext
from fencepost.reports.page import svg
from fencepost.reports.page.charts import colour
from fencepost.reports.page.words import at

ROW = 23.0
TOP = 44.0
LANE_TOP = 26.0
LANE = 76.0
CHARACTER = 7.2
"""Of a heading: a lane is as wide as the longest name."""
CLOCK = 78.0
TEXT_GAP = 26.0
TEXT_WIDTH = 590.0
TEXT_MAX = 92
LANES_MAX = 8


def spacetime_picture(evidence: ViolationContext, title: str) -> Markup:
    """The steps around a violation; steps that prove it are ringed and named in bold."""
    nodes = _nodes(evidence.steps)
    width = max([LANE, *(CHARACTER * len(node) for node in nodes)])
    lanes = {node: CLOCK + width * (place + 0.5) for place, node in enumerate(nodes)}
    rows = _rows(evidence.steps)
    bottom = (rows[-1] if rows else TOP) + ROW
    text_x = CLOCK + width * len(nodes) + TEXT_GAP
    children = [*_headings(lanes), *_lanes(lanes, evidence, rows, bottom)]
    children += _arrows(evidence, lanes, rows)
    for step, y in zip(evidence.steps, rows, strict=True):
        children += _step(step, lanes, y, text_x)
    if evidence.left_out_after:
        words = f"… {evidence.left_out_after:,} more events follow"
        children.append(svg.text(text_x, bottom + 8, words, "label faint"))
    return svg.picture((text_x + TEXT_WIDTH, bottom + 18), title, *children, css="spacetime")


def _nodes(steps: Iterable[DiagramStep]) -> list[str]:
    """Clients first, then brokers by number, then ZooKeeper and the harness."""

    def place(node: str) -> tuple[int, int, str]:
        kind, _, number = node.partition("-")
        rank = {"client": 0, "broker": 1, "zookeeper": 2}.get(kind, 3)
        return rank, int(number) if number.isdecimal() else 0, node

    return sorted({step.node for step in steps}, key=place)[:LANES_MAX]


def _rows(steps: Sequence[DiagramStep]) -> list[float]:
    """The height of each step; a gap where events are left out."""
    rows, y = [], TOP
    for index, step in enumerate(steps):
        y += ROW * (0.55 if index and step.left_out else 0)
        rows.append(y)
        y += ROW
    return rows


def _headings(lanes: dict[str, float]) -> list[Markup]:
    return [svg.text(x, 18, node, "label strong", "middle") for node, x in lanes.items()]


def _lanes(
    lanes: dict[str, float], evidence: ViolationContext, rows: Sequence[float], bottom: float
) -> list[Markup]:
    drawn = []
    for node, x in lanes.items():
        drawn.append(svg.line((x, LANE_TOP), (x, bottom), "lane"))
        own = [(s, y) for s, y in zip(evidence.steps, rows, strict=True) if s.node == node]
        leads = _stretches(own, _leads, bottom, starts=node in evidence.leading_before)
        down = _stretches(own, _is_down, bottom, starts=node in evidence.down_before)
        drawn += [svg.line((x, y), (x, end), f"leads {_colour(node)}") for y, end in leads]
        drawn += [svg.line((x, y), (x, end), "down") for y, end in down]
    return drawn


def _stretches(
    own: Sequence[tuple[DiagramStep, float]],
    change: Callable[[DiagramStep], bool | None],
    bottom: float,
    *,
    starts: bool,
) -> list[tuple[float, float]]:
    """Where a condition holds down a lane: `change` says which steps begin and which end it."""
    found = []
    since = LANE_TOP if starts else None
    for step, y in own:
        holds = change(step)
        if holds is False and since is not None:
            found.append((since, y))
            since = None
        elif holds and since is None:
            since = y
    return found if since is None else [*found, (since, bottom)]


def _leads(step: DiagramStep) -> bool | None:
    """Whether the node believes, from this step on, that it leads; None: as before."""
    changes = {"BecomeLeader": True, "BecomeFollower": False, "FenceLeader": False, "down": False}
    return changes.get(step.action)


def _is_down(step: DiagramStep) -> bool | None:
    """Whether a fault holds the node from this step on; None: as before."""
    return {"down": True, "up": False, "NodeStarted": False}.get(step.action)


def _arrows(
    evidence: ViolationContext, lanes: dict[str, float], rows: Sequence[float]
) -> list[Markup]:
    drawn = []
    for message in evidence.messages:
        start = lanes.get(evidence.steps[message.sent].node)
        end = lanes.get(evidence.steps[message.received].node)
        if start is None or end is None or start == end:
            continue
        tip = end - 6 if end > start else end + 6
        y = rows[message.received]
        drawn.append(svg.line((start, rows[message.sent]), (tip, y), "message"))
        back = -6 if end > start else 6
        drawn.append(
            svg.path(
                f"M{svg.number(tip)} {svg.number(y)}l{back} -3v6z",
                "message-tip",
            )
        )
    return drawn


def _step(step: DiagramStep, lanes: dict[str, float], y: float, text_x: float) -> list[Markup]:
    x = lanes.get(step.node)
    emphasis = " witness" if step.is_witness else " fault-text" if step.is_fault else ""
    drawn = [svg.text(CLOCK - 12, y + 4, at(step.at_ns), "label clock", "end")]
    if step.left_out:
        drawn.append(svg.text(text_x, y - 12, f"⋮ {step.left_out:,} left out", "label faint tiny"))
    if step.is_witness:
        drawn.append(svg.box((2, y - ROW / 2 + 1), (text_x + TEXT_WIDTH - 4, ROW - 2), "marked"))
    if x is not None:
        drawn += _mark(step, x, y)
    drawn.append(svg.text(text_x, y + 4, _cut(step), "step" + emphasis))
    return drawn


def _mark(step: DiagramStep, x: float, y: float) -> list[Markup]:
    if step.is_fault:
        return [svg.path(f"M{svg.number(x)} {svg.number(y - 7)}l7 7l-7 7l-7 -7z", "fault-mark")]
    marks = [svg.element("circle", cx=x, cy=y, r=4, class_=f"dot {_colour(step.node)}")]
    if step.is_witness:
        marks.append(svg.element("circle", cx=x, cy=y, r=8, class_="ring"))
    return marks


def _cut(step: DiagramStep) -> str:
    words = f"{step.node.removeprefix('broker-')}: {step.text}" if _is_broker(step) else step.text
    most = TEXT_MAX - 8 if step.is_witness else TEXT_MAX
    return words if len(words) <= most else words[: most - 1] + "…"


def _is_broker(step: DiagramStep) -> bool:
    return step.node.startswith("broker-")


def _colour(node: str) -> str:
    number = node.removeprefix("broker-")
    return colour(int(number)) if node.startswith("broker-") and number.isdecimal() else "other"
