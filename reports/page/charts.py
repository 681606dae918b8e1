"""Pictures of a whole run: its timeline, and a latency against its budget."""

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from fencepost.reports.analysis.metrics import PhaseLatency
from fencepost.reports.analysis.tenures import BINS
from fencepost.reports.analysis.timelines import FaultSpan, LeaderBar, PartitionLane, Timeline
from fencepost.reports.page import svg
from fencepost.reports.page.words import milliseconds

LEFT = 176.0
WIDTH = 1080.0
PLOT = WIDTH - LEFT - 12
FAULT_HEIGHT = 18.0
LANE_HEIGHT = 58.0
AXIS_HEIGHT = 28.0
FAULT_ROWS_MAX = 8
SILENT = ("proc.kill", "proc.pause")
"""Faults during which a broker leads nothing, whatever it believes."""

COLOURS = 6


def colour(broker_id: int) -> str:
    """The colour class of a broker; its id is always written beside it."""
    return f"b{broker_id % COLOURS}" if broker_id >= 0 else "none"


def timeline_picture(timeline: Timeline, title: str) -> Markup:
    """Faults shaded over the partitions' leaders and acknowledged writes, against time."""
    rows = _fault_rows(timeline.faults)
    top = 6 + len(rows) * FAULT_HEIGHT + (6 if rows else 0)
    bottom = top + len(timeline.lanes) * LANE_HEIGHT
    scale = _Scale(timeline.duration_ns)
    children = [
        *_shades(timeline.faults, scale, bottom),
        *_axis(scale, bottom),
        *_fault_bands(rows, scale),
    ]
    for index, lane in enumerate(timeline.lanes):
        children += _lane(lane, timeline.faults, scale, top + index * LANE_HEIGHT)
    return svg.picture((WIDTH, bottom + AXIS_HEIGHT), title, *children, css="timeline")


class _Scale:
    """Nanoseconds since the run's first event to pixels."""

    def __init__(self, duration_ns: int) -> None:
        self.duration_ns = max(1, duration_ns)

    def x(self, at_ns: int) -> float:
        return LEFT + PLOT * min(1.0, max(0.0, at_ns / self.duration_ns))


def _fault_rows(faults: Iterable[FaultSpan]) -> list[tuple[str, list[FaultSpan]]]:
    """One row per kind and broker while they are few, else one per kind."""
    by_victim: dict[str, list[FaultSpan]] = {}
    by_kind: dict[str, list[FaultSpan]] = {}
    for fault in faults:
        victim = f" · {fault.broker_id}" if fault.broker_id >= 0 else ""
        by_victim.setdefault(fault.fault + victim, []).append(fault)
        by_kind.setdefault(fault.fault, []).append(fault)
    return list((by_victim if len(by_victim) <= FAULT_ROWS_MAX else by_kind).items())


def _shades(faults: Iterable[FaultSpan], scale: _Scale, bottom: float) -> list[Markup]:
    return [
        svg.box(
            (scale.x(fault.start_ns), 4),
            (max(1.5, scale.x(fault.end_ns) - scale.x(fault.start_ns)), bottom - 4),
            "shade",
        )
        for fault in faults
    ]


def _fault_bands(rows: Sequence[tuple[str, list[FaultSpan]]], scale: _Scale) -> list[Markup]:
    drawn = []
    for index, (label, spans) in enumerate(rows):
        y = 6 + index * FAULT_HEIGHT
        drawn.append(svg.text(LEFT - 10, y + 11, label, "label fault-label", "end"))
        for span in spans:
            x = scale.x(span.start_ns)
            drawn.append(svg.box((x, y + 2), (max(3, scale.x(span.end_ns) - x), 11), "fault"))
    return drawn


def _axis(scale: _Scale, bottom: float) -> list[Markup]:
    drawn = [svg.line((LEFT, bottom), (LEFT + PLOT, bottom), "axis")]
    step_ns = _step_ns(scale.duration_ns)
    for tick in range(int(scale.duration_ns // step_ns) + 1):
        x = scale.x(tick * step_ns)
        words = f"{tick * step_ns / 1e9:g} s"
        drawn.append(svg.line((x, 4), (x, bottom + 4), "grid"))
        drawn.append(svg.text(x, bottom + 18, words, "label", "middle" if tick else "start"))
    return drawn


def _step_ns(duration_ns: int) -> int:
    """A round step that gives at most ten ticks."""
    step_ns = 1000
    while duration_ns > 10 * step_ns:
        step_ns = step_ns * 5 // 2 if str(step_ns).startswith("2") else step_ns * 2
    return step_ns


def _lane(
    lane: PartitionLane, faults: Sequence[FaultSpan], scale: _Scale, top: float
) -> list[Markup]:
    name = f"{lane.topic}/{lane.partition}"
    shown = name if len(name) <= 20 else name[:19] + "…"
    drawn = [
        svg.text(LEFT - 10, top + 21, shown, "label strong", "end"),
        svg.text(LEFT - 10, top + 45, "acknowledged", "label faint", "end"),
    ]
    for bar in lane.bars:
        drawn += _bar(bar, faults, scale, top + 8)
    return [*drawn, _writes(lane.writes, top + LANE_HEIGHT - 8)]


def _bar(bar: LeaderBar, faults: Sequence[FaultSpan], scale: _Scale, top: float) -> list[Markup]:
    """Solid while the leader could lead, dashed while it was killed or stopped."""
    drawn, reached_ns = [], bar.start_ns
    for start_ns, stop_ns in [*_alive(bar, faults), (bar.end_ns, bar.end_ns)]:
        left, right = scale.x(start_ns), scale.x(stop_ns)
        if start_ns > reached_ns:
            drawn.append(svg.line((scale.x(reached_ns), top + 9), (left, top + 9), "leaderless"))
        reached_ns = stop_ns
        if stop_ns == start_ns:
            continue
        drawn.append(svg.box((left, top), (right - left, 18), f"bar {colour(bar.leader)}"))
        words = _bar_words(bar, right - left)
        if words:
            drawn.append(svg.text(left + 5, top + 13, words, "bar-label"))
    return drawn


def _bar_words(bar: LeaderBar, width: float) -> str:
    """As much as there is room for: a digit takes about seven pixels."""
    long, short = f"broker {bar.leader} · e{bar.leader_epoch}", str(bar.leader)
    return next((words for words in (long, short) if 7 * len(words) + 8 <= width), "")


def _alive(bar: LeaderBar, faults: Sequence[FaultSpan]) -> list[tuple[int, int]]:
    """The parts of a tenure in which no fault held its leader."""
    parts, start_ns = [], bar.start_ns
    held = [f for f in faults if f.fault in SILENT and f.broker_id == bar.leader]
    for fault in sorted(held, key=lambda fault: fault.start_ns):
        if fault.end_ns > start_ns and fault.start_ns < bar.end_ns:
            parts.append((start_ns, max(start_ns, fault.start_ns)))
            # A killed leader has forgotten its tenure; a stopped one goes on where it was.
            start_ns = bar.end_ns if fault.fault == "proc.kill" else fault.end_ns
    parts.append((start_ns, bar.end_ns))
    return [(start, stop) for start, stop in parts if stop > start]


def _writes(columns: Sequence[int], baseline: float) -> Markup:
    most = max(columns, default=0) or 1
    moves = [
        f"M{svg.number(LEFT + (index + 0.5) * PLOT / BINS)} {svg.number(baseline)}"
        f"v{svg.number(-4 - 12 * (records / most) ** 0.5)}"
        for index, records in enumerate(columns)
        if records
    ]
    return svg.path("".join(moves) or "M0 0", "writes")


def budget_picture(row: PhaseLatency) -> Markup:
    """p50, p99 and the slowest as marks on a bar as long as the budget."""
    width, height = 220.0, 16.0
    span = max(row.limit_ms, row.max_ms)
    limit = width * row.limit_ms / span
    words = (
        f"slowest {milliseconds(row.max_ms)} of a budget of {milliseconds(row.limit_ms)}, "
        f"half within {milliseconds(row.p50_ms)}"
    )
    slowest = svg.box(
        (0, 4), (max(1.5, width * row.max_ms / span), 8), "used" if row.is_within else "over"
    )
    return svg.element(
        "svg",
        svg.element("title", words),
        svg.box((0, 4), (limit, 8), "track"),
        slowest,
        svg.line((width * row.p50_ms / span, 1), (width * row.p50_ms / span, 15), "median"),
        svg.line((limit - 0.75, 0), (limit - 0.75, height), "limit"),
        role="img",
        viewBox=f"0 0 {svg.number(width)} {svg.number(height)}",
        class_="budget",
    )
