"""The screen of `fencepost watch`: one page of a fixed size, whatever the cluster has."""

from collections.abc import Iterator, Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from fencepost.ci.screens.console import printable
from fencepost.conformance.adapters.by_hand.snapshot import (
    ClusterSnapshot,
    SeenBroker,
    WatchedPartition,
)
from fencepost.reports.page.words import count

WIDTH, HEIGHT = 80, 24
BROKERS_MAX = 6
FAULTS_MAX = 3
ISR_MAX = 16
"""Characters of a list of brokers."""
BAD = "bold red"
BROKER_COLUMNS = ("broker", "state", "pid", "broker epoch", "leads", "in sync", "replicas")
PARTITION_COLUMNS = (
    "partition",
    "leader",
    "epoch",
    "ISR",
    "replicas",
    "committed",
    "end",
    "lag",
)
NAME_MAX = 20


def screen(found: ClusterSnapshot, *, at: str, width: int = WIDTH, height: int = HEIGHT) -> Group:
    """The page: at most `height` lines of `width` columns; what does not fit is counted."""
    faults = list(_fault_lines(found.faults))
    brokers = _broker_table(found)
    head = _line(
        f"{at}  ZooKeeper {found.zookeeper}  level {found.level}  "
        f"controller {_text(found.controller)}, epoch {_text(found.controller_epoch)}",
        width,
    )
    taken = 1 + 1 + brokers.row_count + 1 + len(faults)
    left = height - taken - 3  # the names of the columns, what is left out, and a line of air
    shown = found.partitions[: max(left, 0)]
    more = len(found.partitions) - len(shown)
    tail = [_line(f"and {count(more, 'more partition')}", width)] if more else []
    if not found.partitions:
        tail = [_line("no topic yet: fencepost topics create orders --partitions 2", width)]
    return Group(head, brokers, _partition_table(shown), *tail, *faults)


def trouble_screen(why: str, *, at: str, width: int = WIDTH) -> Group:
    """The page while the cluster cannot be looked at."""
    return Group(_line(at, width), Text(printable(why), style=BAD))


def _broker_table(found: ClusterSnapshot) -> Table:
    table = _table(BROKER_COLUMNS)
    shown = sorted(found.brokers, key=lambda one: (one.state == "runs", one.broker_id))
    shown = sorted(shown[:BROKERS_MAX], key=lambda one: one.broker_id)
    for one in shown:
        name = f"{one.broker_id}{' *' if one.broker_id == found.controller else ''}"
        state = Text(one.state, style="" if one.state == "runs" else BAD)
        table.add_row(name, state, *_figures(one))
    if more := len(found.brokers) - len(shown):
        table.add_row(f"+{more}", "more")
    return table


def _figures(one: SeenBroker) -> Iterator[str]:
    for value in (one.pid, one.broker_epoch, one.leads, one.in_sync, one.assigned):
        yield _text(value)


def _partition_table(shown: Sequence[WatchedPartition]) -> Table:
    table = _table(PARTITION_COLUMNS)
    for one in shown:
        table.add_row(
            Text(_cut(printable(str(one.key)), NAME_MAX)),
            Text(_text(one.leader), style=BAD if one.leader is None else ""),
            _text(one.leader_epoch),
            Text(_ids(one.isr), style="yellow" if one.trouble else ""),
            _ids(one.assigned_replicas),
            _text(one.high_watermark),
            _text(one.log_end_offset),
            Text(_text(one.lag), style="yellow" if one.lag else ""),
        )
    return table


def _fault_lines(faults: Sequence[str]) -> Iterator[Text]:
    shown = faults[:FAULTS_MAX]
    for fault in shown:
        yield Text(_cut(f"FAULT {fault}", WIDTH), style=BAD)
    if more := len(faults) - len(shown):
        yield Text(f"and {count(more, 'more fault')}", style=BAD)


def _table(columns: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=True, overflow="ellipsis")
    return table


def _line(text: str, width: int) -> Text:
    return Text(_cut(printable(text), width))


def _ids(ids: Sequence[int]) -> str:
    return _cut(",".join(map(str, ids)) or "none", ISR_MAX)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}~"


def _text(value: object) -> str:
    return "-" if value is None else str(value)
