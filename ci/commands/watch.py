"""`fencepost watch`: the local cluster on one live screen."""

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from threading import Event
from typing import Annotated

import typer
from rich.console import Console, Group
from rich.live import Live

from fencepost.ci.options import ClusterFolder, JsonOption
from fencepost.ci.screens.console import say, show_json
from fencepost.ci.screens.watch_screen import WIDTH, screen, trouble_screen
from fencepost.conformance.adapters.by_hand.snapshot import ClusterSnapshot, look_at
from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.adapters.local_cluster import DEFAULT_FOLDER, load

Every = Annotated[float, typer.Option(min=0.2, max=60, help="Seconds between two looks.")]
Once = Annotated[bool, typer.Option("--once", help="Print one screen, and end.")]
Look = Callable[[], ClusterSnapshot]


def watch(
    every: Every = 1.0,
    once: Once = False,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Show controller, leaders, ISRs, epochs, lag and faults of the local cluster, live.

    Without a terminal one screen is printed, as with --once; --json prints one, too.
    """
    load(cluster)
    if as_json:
        show_json(plain(look_at(cluster)))
        return 0
    console = Console()
    if once or not console.is_terminal:
        narrow = Console(width=WIDTH, highlight=False) if not console.is_terminal else console
        narrow.print(screen(look_at(cluster), at=now(), width=narrow.width))
        return 0
    show_live(console, cluster, every)
    say("The cluster goes on; fencepost cluster down ends it.")
    return 0


def show_live(console: Console, folder: Path, every_s: float) -> None:
    """Renew the screen until Ctrl-C."""
    never = Event()

    def look() -> ClusterSnapshot:
        return look_at(folder)

    try:
        with Live(page(console, look), console=console, screen=True, auto_refresh=False) as live:
            while not never.wait(every_s):
                live.update(page(console, look), refresh=True)
    except KeyboardInterrupt:
        return


def page(console: Console, look: Look) -> Group:
    """One page of the size of the terminal; also while the cluster cannot be looked at."""
    width, height = console.size
    try:
        return screen(look(), at=now(), width=width, height=height)
    except ClusterError as error:
        return trouble_screen(str(error), at=now(), width=width)


def now() -> str:
    """The time of day, for people."""
    return time.strftime("%H:%M:%S")


def plain(found: ClusterSnapshot) -> dict[str, object]:
    """The same for programs."""
    told = asdict(found)
    for one, partition in zip(told["partitions"], found.partitions, strict=True):
        one["partition"] = str(partition.key)
        one["lag"] = partition.lag
        del one["key"]
    return told
