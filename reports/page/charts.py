"""Pictures of a whole run: its timeline, and a latency against its budget."""

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from fencepost.reports.analysis.metrics import PhaseLatency
from fencepost.reports.analysis.tenures import BINS
from fencepost.reports.analysis.timelines import (
    FaultSpan,
    LeaderBar,
    PartitionLane,
    QueueColumn,
    Timeline,
)
from fencepost.reports.page import svg
from fencepost.reports.page.words import at, milliseconds

AXIS_HEIGHT = 28.0
FAULT_ROWS_MAX = 8
SILENT = ("proc.kill", "proc.pause")
"""Faults during which a broker leads nothing, whatever it believes."""

COLOURS = 6


def colour(broker_id: int) -> str:
    """The colour class of a broker; its id is always written beside it."""
    return f"b{broker_id % COLOURS}" if broker_id >= 0 else "none"


def timeline_picture(timeline: Timeline, title: str, *, is_narrow: bool = False) -> Markup:
    """Faults over the partitions' leaders, in-sync replicas, logs and acknowledged writes."""
    scale = _Scale(timeline.duration_ns, is_narrow=is_narrow)
    rows = _fault_rows(timeline.faults)
    top = 6 + len(rows) * scale.fault_height + (6 if rows else 0)
    tops = [top]
    for lane in timeline.lanes:
        tops.append(tops[-1] + _lane_height(lane, scale))
    bottom = tops[-1] + (QUEUE + scale.above if timeline.queue else 0)
    children = [
        *_shades(timeline.faults, scale, bottom),
        *_axis(scale, bottom),
        *_fault_bands(rows, scale),
    ]
    for lane, above in zip(timeline.lanes, tops, strict=False):
        children += _lane(lane, timeline.faults, scale, above)
    if timeline.queue:
        children += _queue(timeline.queue, scale, tops[-1] + scale.above)
    return svg.picture(
        (scale.width, bottom + AXIS_HEIGHT),
        title,
        *children,
        css="timeline narrow" if is_narrow else "timeline wide",
        least=scale.width - 40 if is_narrow else 720,
    )


class _Scale:
    """Nanoseconds since the run's first event to pixels; on a phone the words stand above."""

    def __init__(self, duration_ns: int, *, is_narrow: bool) -> None:
        self.duration_ns = max(1, duration_ns)
        self.is_narrow = is_narrow
        self.width = 356.0 if is_narrow else 1080.0
        self.left = 4.0 if is_narrow else 176.0
        self.plot = self.width - self.left - 12
        self.fault_height = 30.0 if is_narrow else 18.0
        self.above = 14.0 if is_narrow else 0.0
        """What the words of a row take when they stand above it."""
        self.ticks = 4 if is_narrow else 10

    def x(self, at_ns: int) -> float:
        return self.left + self.plot * min(1.0, max(0.0, at_ns / self.duration_ns))

    def label(self, y: float, words: str, css: str) -> Markup:
        """The words of a row; its picture has its middle at `y`."""
        if self.is_narrow:
            shown = words if len(words) <= 48 else words[:47] + "…"
            return svg.text(self.left, y - 12, shown, css)
        shown = words if len(words) <= 26 else words[:25] + "…"
        return svg.text(self.left - 10, y + 4, shown, css, "end")


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
        y = 6 + index * scale.fault_height + scale.above
        drawn.append(scale.label(y + 7, label, "label fault-label"))
        for span in spans:
            x = scale.x(span.start_ns)
            band = svg.box((x, y + 2), (max(3, scale.x(span.end_ns) - x), 11), "fault")
            words = f"{span.fault} of {span.target}, {at(span.start_ns)} to {at(span.end_ns)}"
            drawn.append(svg.element("g", svg.element("title", words), band))
    return drawn


def _axis(scale: _Scale, bottom: float) -> list[Markup]:
    drawn = [svg.line((scale.left, bottom), (scale.left + scale.plot, bottom), "axis")]
    step_ns = _step_ns(scale.duration_ns, scale.ticks)
    for tick in range(int(scale.duration_ns // step_ns) + 1):
        x = scale.x(tick * step_ns)
        words = f"{tick * step_ns / 1e9:g} s"
        anchor = "middle" if tick and x < scale.width - 24 else "end" if tick else "start"
        drawn.append(svg.line((x, 4), (x, bottom + 4), "grid"))
        drawn.append(svg.text(x, bottom + 18, words, "label", anchor))
    return drawn


def _step_ns(duration_ns: int, ticks: int) -> int:
    """A round step that gives at most so many ticks."""
    step_ns = 1000
    while duration_ns > ticks * step_ns:
        step_ns = step_ns * 5 // 2 if str(step_ns).startswith("2") else step_ns * 2
    return step_ns


BAR = 28.0
WRITES = 26.0
ISR_LINE = 5.0
LEVELS = 38.0
"""Heights of the parts of a lane."""
QUEUE = 44.0


def _lane_height(lane: PartitionLane, scale: _Scale) -> float:
    isr = _isr_height(lane) + scale.above if lane.isr else 0
    levels = LEVELS + scale.above if lane.levels else 0
    return BAR + WRITES + 2 * scale.above + isr + levels + 6


def _isr_height(lane: PartitionLane) -> float:
    return ISR_LINE * len(_members(lane)) + 10


def _members(lane: PartitionLane) -> list[int]:
    """Every broker that was ever in the ISR."""
    return sorted({member for span in lane.isr for member in span.members})


def _lane(
    lane: PartitionLane, faults: Sequence[FaultSpan], scale: _Scale, top: float
) -> list[Markup]:
    """The leader, then the in-sync replicas, the log and the acknowledged writes."""
    y = top + scale.above
    drawn = [scale.label(y + 17, f"{lane.topic}/{lane.partition}", "label strong")]
    for bar in lane.bars:
        drawn += _bar(bar, faults, scale, y + 8)
    y += BAR
    if lane.isr:
        y += scale.above
        drawn += _isr_lines(lane, scale, y)
        y += _isr_height(lane)
    if lane.levels:
        y += scale.above
        drawn += _level_lines(lane, scale, y)
        y += LEVELS
    y += scale.above
    drawn.append(scale.label(y + 13, "acknowledged", "label faint"))
    return [*drawn, _writes(lane.writes, scale, y + WRITES - 4)]


def _isr_lines(lane: PartitionLane, scale: _Scale, top: float) -> list[Markup]:
    """A line for each broker while it is in the ISR."""
    members = _members(lane)
    drawn = [scale.label(top + _isr_height(lane) / 2 - 1, f"isr {members}", "label faint")]
    for span in lane.isr:
        x, end = scale.x(span.start_ns), scale.x(span.end_ns)
        lines = [
            svg.box(
                (x, top + 4 + ISR_LINE * place),
                (end - x - 0.8, ISR_LINE - 2),
                f"bar solid {colour(member)}",
            )
            for place, member in enumerate(members)
            if member in span.members
        ]
        words = f"isr {list(span.members)} from {at(span.start_ns)} to {at(span.end_ns)}"
        drawn.append(svg.element("g", svg.element("title", words), *lines))
    return drawn


def _level_lines(lane: PartitionLane, scale: _Scale, top: float) -> list[Markup]:
    """The log end offset and the high watermark as steps; what is between is not committed."""
    most = max([1, *(end for _, _, end in lane.levels), *(hw for _, hw, _ in lane.levels)])
    last = lane.levels[-1]
    words = f"hw {last[1]:,} of leo {last[2]:,}"
    drawn = [scale.label(top + LEVELS / 2, words, "label faint")]
    for index, css in ((2, "log-end"), (1, "watermark")):
        moves = ""
        for place, level in enumerate(lane.levels):
            x = svg.number(scale.left + level[0] * scale.plot / BINS)
            y = svg.number(top + LEVELS - 6 - (LEVELS - 12) * max(0, level[index]) / most)
            moves += f"H{x}V{y}" if place else f"M{x} {y}"
        drawn.append(svg.path(f"{moves}H{svg.number(scale.left + scale.plot)}", css))
    told = "high_watermark (solid) and log_end_offset (dotted) of the leader"
    return [*drawn[:1], svg.element("g", svg.element("title", told), *drawn[1:])]


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
        told = f"broker {bar.leader} leads in epoch {bar.leader_epoch} from {at(bar.start_ns)}"
        box = svg.box((left, top), (right - left, 18), f"bar {colour(bar.leader)}")
        drawn.append(svg.element("g", svg.element("title", told), box))
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


def _writes(columns: Sequence[int], scale: _Scale, baseline: float) -> Markup:
    most = max(columns, default=0) or 1
    moves = [
        f"M{svg.number(scale.left + (index + 0.5) * scale.plot / BINS)} {svg.number(baseline)}"
        f"v{svg.number(-4 - 12 * (records / most) ** 0.5)}"
        for index, records in enumerate(columns)
        if records
    ]
    return svg.path("".join(moves) or "M0 0", "writes")


def _queue(columns: Sequence[QueueColumn], scale: _Scale, top: float) -> list[Markup]:
    """The partitions that waited for the controller, and the longest wait that ended."""
    most = max(one.waiting for one in columns)
    longest = max(one.longest_ms for one in columns)
    baseline, width = top + QUEUE - 6, scale.plot / BINS
    words = f"waiting ≤ {most:,}, {milliseconds(longest)}"
    told = (
        "partitions that waited for the controller, from the creation of the topic or the "
        f"decision until the leader was told: at most {most:,} at once, the longest for "
        f"{milliseconds(longest)}"
    )
    boxes = []
    for one in columns:
        height = max(1.0, (QUEUE - 14) * one.waiting / most)
        corner = (scale.left + one.column * width, baseline - height)
        boxes.append(svg.box(corner, (width, height), "queue"))
    picture = svg.element("g", svg.element("title", told), *boxes)
    return [scale.label(top + QUEUE / 2, words, "label faint"), picture]


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
