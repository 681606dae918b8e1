"""The space-time diagram of a violation: a lane per node, time downwards, messages across.

Each part that stands at a row carries the numbers of its steps, so that the script of the page can
move the rows apart, to their real times, or make room for the steps that are asked for.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

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

NARROW = 340.0
"""Width of the picture for a phone, with the words below their row."""
NARROW_TEXT_MAX = 45
NARROW_LINE = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """Where everything stands."""

    steps: tuple[DiagramStep, ...]
    lanes: dict[str, float]
    rows: tuple[float, ...]
    """The height of each step; one that is only shown when asked for lies where it will be."""
    bottom: float
    width: float
    is_narrow: bool

    def y(self, place: int) -> float:
        """The height of a step; -1 is the top, their number the bottom."""
        return LANE_TOP if place < 0 else [*self.rows, self.bottom][place]

    @property
    def text_x(self) -> float:
        return 4.0 if self.is_narrow else CLOCK + self._lane * len(self.lanes) + TEXT_GAP

    @property
    def _lane(self) -> float:
        return max([LANE, *(CHARACTER * len(node) for node in self.lanes)])


def spacetime_picture(evidence: ViolationContext, title: str, *, is_narrow: bool = False) -> Markup:
    """The steps around a violation; steps that prove it are ringed and named in bold."""
    frame = _frame(evidence, is_narrow=is_narrow)
    children = [
        *_headings(frame),
        *_lanes(frame, evidence),
        *_bands(frame),
        *_arrows(frame, evidence),
        *(part for place in range(len(frame.steps)) for part in _step(frame, place)),
    ]
    if after := _hidden_after(evidence):
        words = f"… {after:,} more {'event follows' if after == 1 else 'events follow'}"
        last = svg.text(frame.text_x, 8, words, "label faint gap")
        children.append(_at(frame, len(frame.steps), "words after", last))
    return svg.picture(
        (frame.width, frame.bottom + 18),
        title,
        *children,
        css="spacetime narrow" if is_narrow else "spacetime wide",
        least=NARROW - 40 if is_narrow else 900,
        data_row=ROW,
    )


def _frame(evidence: ViolationContext, *, is_narrow: bool) -> _Frame:
    steps = evidence.steps
    nodes = _nodes(step for step in steps if step.is_main)
    widest = max([LANE, *(CHARACTER * len(node) for node in nodes)])
    left, lane = (0.0, NARROW / max(1, len(nodes))) if is_narrow else (CLOCK, widest)
    rows, bottom = _rows(steps, is_narrow=is_narrow)
    return _Frame(
        steps=steps,
        lanes={node: left + lane * (place + 0.5) for place, node in enumerate(nodes)},
        rows=tuple(rows),
        bottom=bottom,
        width=NARROW if is_narrow else CLOCK + widest * len(nodes) + TEXT_GAP + TEXT_WIDTH,
        is_narrow=is_narrow,
    )


def _nodes(steps: Iterable[DiagramStep]) -> list[str]:
    """Clients first, then brokers by number, then ZooKeeper and the harness."""

    def place(node: str) -> tuple[int, int, str]:
        kind, _, number = node.partition("-")
        rank = {"client": 0, "broker": 1, "zookeeper": 2}.get(kind, 3)
        return rank, int(number) if number.isdecimal() else 0, node

    return sorted({step.node for step in steps}, key=place)[:LANES_MAX]


def _rows(steps: Sequence[DiagramStep], *, is_narrow: bool) -> tuple[list[float], float]:
    """The height of each step, and that below the last; a gap where events are left out."""
    rows, y, hidden = list[float](), TOP, 0
    for step in steps:
        hidden += step.left_out + (not step.is_main)
        if step.is_main:
            y += ROW * (0.55 if hidden and y > TOP else 0)
            hidden = 0
        rows.append(y)
        if step.is_main:
            y += ROW + (NARROW_LINE * len(_lines(step)) if is_narrow else 0)
    return rows, y


def _headings(frame: _Frame) -> Iterator[Markup]:
    for node, x in frame.lanes.items():
        words = node
        if frame.is_narrow:
            words = node.replace("broker-", "b").replace("client-", "c")
            words = words if len(words) <= 6 else words[:5] + "…"
        yield svg.text(x, 18, words, "label strong", "middle")


def _lanes(frame: _Frame, evidence: ViolationContext) -> Iterator[Markup]:
    for node, x in frame.lanes.items():
        last = len(frame.steps)
        yield _stretch(frame, x, (-1, last), "lane")
        own = [(step, place) for place, step in enumerate(frame.steps) if step.node == node]
        for ends in _stretches(own, _leads, last, starts=node in evidence.leading_before):
            yield _stretch(frame, x, ends, f"leads {_colour(node)}")
        for ends in _stretches(own, _is_down, last, starts=node in evidence.down_before):
            yield _stretch(frame, x, ends, "down")


def _stretch(frame: _Frame, x: float, ends: tuple[int, int], css: str) -> Markup:
    """A part of a lane between two steps."""
    start, end = (x, frame.y(ends[0])), (x, frame.y(ends[1]))
    return svg.line(start, end, css, data_from=ends[0], data_to=ends[1])


def _stretches(
    own: Sequence[tuple[DiagramStep, int]],
    change: Callable[[DiagramStep], bool | None],
    last: int,
    *,
    starts: bool,
) -> list[tuple[int, int]]:
    """Where a condition holds down a lane: `change` says which steps begin and which end it."""
    found = []
    since = -1 if starts else None
    for step, place in own:
        holds = change(step)
        if holds is False and since is not None:
            found.append((since, place))
            since = None
        elif holds and since is None:
            since = place
    return found if since is None else [*found, (since, last)]


def _leads(step: DiagramStep) -> bool | None:
    """Whether the node believes, from this step on, that it leads; None: as before."""
    changes = {"BecomeLeader": True, "BecomeFollower": False, "FenceLeader": False, "down": False}
    return changes.get(step.action)


def _is_down(step: DiagramStep) -> bool | None:
    """Whether a fault holds the node from this step on; None: as before."""
    return {"down": True, "up": False, "NodeStarted": False}.get(step.action)


def _bands(frame: _Frame) -> Iterator[Markup]:
    """The rows of the steps that prove the violation, below everything that crosses them."""
    for place, step in enumerate(frame.steps):
        if step.is_witness:
            height = ROW - 2 + (NARROW_LINE * len(_lines(step)) if frame.is_narrow else 0)
            band = svg.box((2, 1 - ROW / 2), (frame.width - 4, height), "marked")
            yield _at(frame, place, "words band", band)


def _arrows(frame: _Frame, evidence: ViolationContext) -> Iterator[Markup]:
    for message in evidence.messages:
        ends = [frame.steps[place] for place in (message.sent, message.received)]
        start, end = (frame.lanes.get(step.node) for step in ends)
        is_main = all(step.is_main for step in ends)
        if start is None or end is None or start == end or (frame.is_narrow and not is_main):
            continue
        way = 1 if end > start else -1
        sent, y = frame.rows[message.sent], frame.rows[message.received]
        yield svg.element(
            "g",
            svg.element("title", message.label),
            svg.line((start, sent), (end - 6 * way, y), "message"),
            svg.path(f"M{svg.number(end - 6 * way)} 0l{-6 * way} -3v6z", "message-tip", y),
            class_="arrow" if is_main else "arrow more",
            data_from=message.sent,
            data_to=message.received,
        )


def _step(frame: _Frame, place: int) -> Iterator[Markup]:
    """Its mark on the lane, and its words."""
    step = frame.steps[place]
    if frame.is_narrow and not step.is_main:
        return
    x = frame.lanes.get(step.node)
    if x is not None:
        yield _at(frame, place, "mark", *_mark(step, x))
    emphasis = " witness" if step.is_witness else " fault-text" if step.is_fault else ""
    if frame.is_narrow:
        parts = [
            svg.text(4, 4 + NARROW_LINE * (line + 1), words, "step" + emphasis)
            for line, words in enumerate(_lines(step))
        ]
    else:
        clock = svg.text(CLOCK - 12, 4, at(step.at_ns), "label clock", "end")
        parts = [clock, svg.text(frame.text_x, 4, _cut(step), "step" + emphasis)]
    if step.is_main and (hidden := _hidden_before(frame.steps, place)):
        words = f"⋮ {hidden:,} more {'event' if hidden == 1 else 'events'}"
        parts.append(svg.text(frame.text_x, -12, words, "label faint tiny gap"))
    yield _at(frame, place, "words", *parts)


def _at(frame: _Frame, place: int, css: str, *parts: Markup) -> Markup:
    """A group at the height of a step; its parts count from there."""
    step = frame.steps[place] if place < len(frame.steps) else None
    return svg.element(
        "g",
        *parts,
        class_=css if step is None or step.is_main else f"{css} more",
        transform=f"translate(0 {svg.number(frame.y(place))})",
        data_step=place,
        data_ns=step.at_ns if step is not None and css == "words" else None,
        data_kind=kinds_of(step) or None if step is not None and css == "words" else None,
    )


def kinds_of(step: DiagramStep) -> str:
    """What a step can be looked for as: `fault`, `leader` for a new one, `proof`."""
    kinds = {"fault": step.is_fault, "leader": step.action == "BecomeLeader"}
    return " ".join(kind for kind, holds in (kinds | {"proof": step.is_witness}).items() if holds)


def _mark(step: DiagramStep, x: float) -> list[Markup]:
    if step.is_fault:
        return [svg.path(f"M{svg.number(x)} -7l7 7l-7 7l-7 -7z", "fault-mark")]
    marks = [svg.element("circle", cx=x, cy=0, r=4, class_=f"dot {_colour(step.node)}")]
    if step.is_witness:
        marks.append(svg.element("circle", cx=x, cy=0, r=8, class_="ring"))
    return marks


def _hidden_before(steps: Sequence[DiagramStep], place: int) -> int:
    """Events between the main step before and this one; none before the first."""
    hidden = steps[place].left_out
    while place > 0 and not steps[place - 1].is_main:
        place -= 1
        hidden += 1 + steps[place].left_out
    return hidden


def _hidden_after(evidence: ViolationContext) -> int:
    steps, place = evidence.steps, len(evidence.steps)
    hidden = evidence.left_out_after
    while place > 0 and not steps[place - 1].is_main:
        place -= 1
        hidden += 1 + steps[place].left_out
    return hidden


def _lines(step: DiagramStep) -> list[str]:
    """The words below a row of the narrow picture."""
    return wrap(f"{at(step.at_ns)} {_words(step)}", NARROW_TEXT_MAX, max_lines=4, placeholder=" …")


def _cut(step: DiagramStep) -> str:
    words = _words(step)
    most = TEXT_MAX - 8 if step.is_witness else TEXT_MAX
    return words if len(words) <= most else words[: most - 1] + "…"


def _words(step: DiagramStep) -> str:
    is_client = step.node.startswith("client-")
    return step.text if is_client else f"{step.node.removeprefix('broker-')}: {step.text}"


def _colour(node: str) -> str:
    number = node.removeprefix("broker-")
    return colour(int(number)) if node.startswith("broker-") and number.isdecimal() else "other"
