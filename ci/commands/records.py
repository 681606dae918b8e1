"""`fencepost produce` and `fencepost consume`."""

import json
from typing import Annotated

import typer

from fencepost.ci import client_process
from fencepost.ci.client_process import call
from fencepost.ci.gate.failures import UsageError
from fencepost.ci.options import (
    BootstrapServers,
    ClusterFolder,
    JsonOption,
    PartitionNumber,
    TopicName,
    require_text,
)
from fencepost.ci.screens.console import printable, say, show_json
from fencepost.conformance.adapters.local_cluster import DEFAULT_FOLDER
from fencepost.reports.page.words import count

Values = Annotated[
    list[str] | None,
    typer.Option(
        help="A record; may be given again. Without it, each line of standard input is a record.",
        callback=require_text,
    ),
]
Acks = Annotated[
    str,
    typer.Option(
        metavar="all|-1|1|0",
        help="all: wait for all in-sync replicas; a retry appends nothing twice.",
    ),
]
ACKS = {"all": -1, "-1": -1, "1": 1, "0": 0}
Offset = Annotated[str, typer.Option(metavar="N|earliest|latest", help="Where to start.")]
MaxMessages = Annotated[int | None, typer.Option(min=1, help="Stop after this many records.")]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Wait for further records.")]


def produce(
    topic: TopicName,
    value: Values = None,
    partition: PartitionNumber = 0,
    acks: Acks = "all",
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Append records to a partition.

    Exit code 3 with "may or may not have happened": consume to see whether it did.
    """
    if acks not in ACKS:
        raise UsageError(f"--acks is {acks!r}: give all (or -1), 1 (the leader) or 0")
    placed = call(
        "produce",
        bootstrap_server,
        cluster,
        topic=topic,
        partition=partition,
        acks=ACKS[acks],
        lines=not value,
        given=json.dumps(value) if value else None,
    )
    if not placed:
        raise UsageError("standard input is empty: there is nothing to produce")
    if as_json:
        show_json(placed)
    else:
        records = count(placed["count"], "record")
        say(f"{topic}/{partition}: {records} from offset {placed['offset']} on")
    return 0


def consume(
    topic: TopicName,
    partition: PartitionNumber = 0,
    offset: Offset = "earliest",
    max_messages: MaxMessages = None,
    follow: Follow = False,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Print the committed records of a partition, one a line after its offset.

    Control characters are shown as escapes; --json gives the exact values.
    """
    start = parse_offset(offset)
    if follow and as_json and max_messages is None:
        raise UsageError("--follow has no end, and one JSON document has; give --max-messages")
    read = client_process.answers(
        "consume",
        bootstrap_server,
        cluster,
        topic=topic,
        partition=partition,
        offset=start,
        max_records=max_messages,
        follow=follow,
    )
    if as_json:
        show_json(list(read))
        return 0
    for record in read:
        say(f"{record['offset']}\t{printable(record['value'])}")
    return 0


def parse_offset(text: str) -> int | str:
    """A number, or where the log begins or ends; raises `UsageError`."""
    if text in ("earliest", "latest"):
        return text
    if not text.isdecimal():
        raise UsageError(f"{text!r} is not an offset: give a number from 0 on, earliest or latest")
    return int(text)
