"""How a lab looks: words, the steps that were done, and the state with what changed in it."""

import sys
from collections.abc import Iterator
from textwrap import fill

from rich.text import Text

from fencepost.ci.screens.console import note, say, show_table
from fencepost.conformance.whitebox.labs import (
    LabRun,
    LabStop,
    PlayedLab,
    SeenDecision,
    SeenPartition,
    SeenReplica,
    SeenState,
)

WIDTH = 80
"""Columns; ssh and a plain terminal have them."""
COLUMNS = (
    "broker",
    "broker\nepoch",
    "role",
    "leader\nepoch",
    "high\nwatermark",
    "log end\noffset",
    "log",
)
CHANGED = "->"
"""Between what was and what is."""
OTHER_LOG = "* "
"""Before a log that has changed."""
LEGEND = "0->1: it was 0 and is 1. *: the log has changed. |: what stands before it is committed."
ABSENT = "none"
VIOLATED = "violated: "
KINDS = {
    "fencepost check ": "the same by TLC, as the shortest counterexample or its absence",
    "fencepost chaos ": "on processes, under a real ZooKeeper",
    "fencepost simulate ": "in the simulator, by chance",
    "fencepost bugs ": "as a bug of a release of Apache Kafka",
    "": "to read",
}
"""How a command begins -> what it shows; the rest are pages."""


def show_labs(labs: dict[str, str]) -> None:
    """Name -> its sentence."""
    show_table("labs", ("name", "what happens"), list(labs.items()))
    say("fencepost lab NAME plays one: first the loss, then the rule that stops it.")


def show_lab(lab: PlayedLab, *, waits: bool) -> None:
    """Print a lab stop by stop; with `waits` the next one comes after Enter."""
    _paragraph(f"lab {lab.name}: {lab.story.says}")
    _paragraph(LEGEND)
    total = sum(len(run.stops) for run in lab.runs)
    done = 0
    for run in lab.runs:
        say("")
        _paragraph(f"== {run.run_id} == {run.says}")
        for stop in run.stops:
            done += 1
            _show_stop(f"{lab.name}, {run.run_id}, {done} of {total}", stop)
            if waits and done < total and not _goes_on():
                return
    say("")
    for run in lab.runs:
        _paragraph(f"{run.run_id}: {_found(run)}")
    for line in further_lines(lab):
        say(line)


def _found(run: LabRun) -> str:
    """What the checks found."""
    printed = (line for stop in run.stops for _, lines in stop.orders for line in lines)
    wrong = [line.removeprefix(VIOLATED) for line in printed if line.startswith(VIOLATED)]
    return f"violates {', '.join(wrong)}" if wrong else "violates nothing"


def _goes_on() -> bool:
    """Wait for a line; false when the reader has had enough."""
    note("[Enter: go on; q and Enter: end]")
    line = sys.stdin.readline()
    return line != "" and not line.strip().casefold().startswith("q")


def _show_stop(where: str, stop: LabStop) -> None:
    say("")
    say(f"-- {where}")
    _paragraph(stop.says)
    show_orders(stop)
    if stop.after is not None:
        show_state(stop.before, stop.after)
    if stop.look:
        _paragraph(f"LOOK: {stop.look}")


def show_orders(stop: LabStop) -> None:
    """Print each step of the story as it is written, and what it printed."""
    for order, printed in stop.orders:
        say(f"    {order}")
        for line in printed:
            say(f"        prints: {line}")


def _paragraph(text: str) -> None:
    say(fill(text, WIDTH, break_on_hyphens=False, subsequent_indent=_indent_of(text)))


def _indent_of(text: str) -> str:
    """The spaces before the first word."""
    return " " * (len(text) - len(text.lstrip()))


def show_state(before: SeenState | None, after: SeenState) -> None:
    """Print a state; where it is another one than before, what was stands in front of what is."""
    controller = marked(before and before.controller, after.controller, is_new=before is None)
    epoch = marked(
        before and before.controller_epoch, after.controller_epoch, is_new=before is None
    )
    say(f"  controller {controller}, controller epoch {epoch}")
    known = {one.partition: one for one in before.partitions} if before else {}
    for partition in after.partitions:
        _show_partition(known.get(partition.partition), partition)


def _show_partition(before: SeenPartition | None, after: SeenPartition) -> None:
    was = before.published if before else None
    _paragraph(f"  {after.partition} in ZooKeeper: {_published(was, after.published)}")
    known = {one.broker: one for one in before.replicas} if before else {}
    rows = [list(_cells(known.get(one.broker), one)) for one in after.replicas]
    show_table("", COLUMNS, rows)


def _published(was: SeenDecision | None, now: SeenDecision | None) -> str:
    if now is None:
        return "no state yet"
    is_new = was is None
    pairs = {
        "leader": (_leader(was), _leader(now)),
        "leader epoch": (was and was.leader_epoch, now.leader_epoch),
        "ISR": (_ids(was), _ids(now)),
        "znode version": (was and was.znode_version, now.znode_version),
    }
    return ", ".join(f"{name} {marked(*pair, is_new=is_new)}" for name, pair in pairs.items())


def _leader(state: SeenDecision | None) -> object:
    return state and (None if state.leader < 0 else state.leader)


def _ids(state: SeenDecision | None) -> str:
    return ",".join(map(str, state.isr)) if state else ""


def _cells(was: SeenReplica | None, now: SeenReplica) -> Iterator[object]:
    """One replica; a changed cell shows both values."""
    yield str(now.broker)
    is_new = was is None
    pairs = (
        (was and was.broker_epoch, now.broker_epoch),
        (was and _role(was), _role(now)),
        (was and was.leader_epoch, now.leader_epoch),
        (was and was.high_watermark, now.high_watermark),
        (was and was.log_end_offset, now.log_end_offset),
    )
    for pair in pairs:
        yield _cell(marked(*pair, is_new=is_new))
    is_other = was is not None and was.log != now.log
    yield _cell(f"{OTHER_LOG if is_other else ''}{_text(now.log)}")


def _cell(text: str) -> Text:
    is_changed = CHANGED in text or text.startswith(OTHER_LOG)
    return Text(text, style="bold yellow" if is_changed else "")


def _role(replica: SeenReplica) -> str:
    if replica.life == "dead":
        return "dead"
    paused = "paused " if replica.life == "paused" else ""
    return f"{paused}{replica.role or ABSENT}"


def marked(was: object, now: object, *, is_new: bool) -> str:
    """What is, and in front of it what was if that is something else."""
    if is_new or was == now:
        return _text(now)
    return f"{_text(was)}{CHANGED}{_text(now)}"


def _text(value: object) -> str:
    return ABSENT if value is None else str(value)


def further_lines(lab: PlayedLab) -> Iterator[str]:
    """The commands and pages that show the same, by what they show."""
    left = list(lab.story.further)
    for begin, what in KINDS.items():
        found = [one for one in left if one.startswith(begin)]
        left = [one for one in left if one not in found]
        if found:
            yield f"{what}:"
            yield from (f"    {one}" for one in found)


def run_document(run: LabRun) -> dict[str, object]:
    """One run as plain values."""
    return {
        "run": run.run_id,
        "says": run.says,
        "stops": [
            {
                "says": stop.says,
                "look": stop.look,
                "steps": [
                    {"step": order, "printed": list(printed)} for order, printed in stop.orders
                ],
                "before": stop.before,
                "after": stop.after,
            }
            for stop in run.stops
        ],
    }
