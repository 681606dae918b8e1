"""`fencepost reassign` and `fencepost elect`: where replicas are, and which of them leads."""

import json
from collections import Counter
from enum import StrEnum
from json import JSONDecodeError
from pathlib import Path
from typing import Annotated, Any

import typer

from fencepost.ci import client_process
from fencepost.ci.commands.topics import OptionalTopic, described, joined, require_topic
from fencepost.ci.gate.failures import HarnessError, UsageError
from fencepost.ci.options import (
    BootstrapServers,
    ClusterFolder,
    JsonOption,
    OptionalPartitionNumbers,
    PartitionNumber,
)
from fencepost.ci.screens.console import complain, say, show_json, tell
from fencepost.conformance.adapters.local_cluster import DEFAULT_FOLDER

app = typer.Typer(no_args_is_help=True)

Replicas = Annotated[
    str, typer.Option(metavar="1,2,3", help="The target replicas, the preferred leader first.")
]
ReassignmentFile = Annotated[
    Path | None,
    typer.Option(
        "--reassignment-json-file",
        metavar="FILE",
        help='As for Kafka: {"partitions": [{"topic": "t", "partition": 0, "replicas": [1]}]}.',
    ),
]


class ElectionType(StrEnum):
    """As Kafka names them."""

    PREFERRED = "preferred"
    UNCLEAN = "unclean"


Kind = Annotated[
    ElectionType,
    typer.Option(
        help="preferred: the first assigned replica. unclean: any replica; records may be lost."
    ),
]


@app.command("execute")
def execute(
    topic: OptionalTopic = None,
    partition: PartitionNumber = 0,
    replicas: Replicas = "",
    reassignment_json_file: ReassignmentFile = None,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Begin to move partitions; `reassign list` shows the progress."""
    wanted = wanted_moves(topic, partition, replicas, reassignment_json_file)
    return ask("reassign", ("moving", as_json), bootstrap_server, cluster, wanted)


@app.command("cancel")
def cancel(
    topic: OptionalTopic = None,
    partition: PartitionNumber = 0,
    reassignment_json_file: ReassignmentFile = None,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Cancel reassignments: partitions go back to their previous replicas."""
    wanted = wanted_moves(topic, partition, None, reassignment_json_file)
    return ask("reassign", ("going back", as_json), bootstrap_server, cluster, wanted)


@app.command("list")
def list_moves(
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Show the partitions that are being moved."""
    moving = list(client_process.answers("list_reassignments", bootstrap_server, cluster))
    if as_json:
        show_json(moving)
        return 0
    if not moving:
        say("No partition reassignments found.")
    for one in moving:
        say(
            f"{one['topic']}-{one['partition']}:\tTarget: {joined(one['replicas']) or 'back'}"
            f"\tReplicas: {joined(one['assigned_replicas'])}"
            f"\tAddingReplicas: {joined(one['adding'])}"
            f"\tRemovingReplicas: {joined(one['removing'])}"
        )
    return 0


@app.command("verify")
def verify(
    topic: OptionalTopic = None,
    partition: PartitionNumber = 0,
    replicas: Replicas = "",
    reassignment_json_file: ReassignmentFile = None,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Check that partitions have their target replicas; exit code 3 while one has not."""
    wanted = wanted_moves(topic, partition, replicas, reassignment_json_file)
    moving = list(client_process.answers("list_reassignments", bootstrap_server, cluster))
    topics = described(bootstrap_server, cluster)["topics"]
    states = [(one, state_of(one, moving, topics)) for one in wanted]
    is_over = all(state is MoveState.COMPLETED for _, state in states)
    if as_json:
        places = [{"topic": one["topic"], "partition": one["partition"]} for one in wanted]
        rows = [{**place, "state": str(s)} for place, (_, s) in zip(places, states, strict=True)]
        show_json({"partitions": rows, "completed": is_over})
        return 0 if is_over else HarnessError.exit_code
    for one, state in states:
        say(f"Reassignment of partition {one['topic']}-{one['partition']} {state}.")
    return 0 if is_over else HarnessError.exit_code


class MoveState(StrEnum):
    """How far a move is, in the words of Kafka's tool."""

    COMPLETED = "is completed"
    IN_PROGRESS = "is still in progress"
    ELSEWHERE = "is not under way, and its replicas are others"
    UNKNOWN = "is unknown: there is no such partition"


def state_of(
    wanted: dict[str, Any], moving: list[dict[str, Any]], topics: dict[str, list[dict[str, Any]]]
) -> MoveState:
    """Of one move, among those under way and the partitions of each topic."""
    name, number = wanted["topic"], wanted["partition"]
    if any((one["topic"], one["partition"]) == (name, number) for one in moving):
        return MoveState.IN_PROGRESS
    found = [one for one in topics.get(name, []) if one["partition"] == number]
    if not found:
        return MoveState.UNKNOWN
    is_there = found[0]["assigned_replicas"] == wanted["replicas"]
    return MoveState.COMPLETED if is_there else MoveState.ELSEWHERE


def elect(
    topic: OptionalTopic = None,
    partition: OptionalPartitionNumbers = None,
    all_topic_partitions: Annotated[
        bool, typer.Option("--all-topic-partitions", help="All partitions that need an election.")
    ] = False,
    election_type: Kind = ElectionType.PREFERRED,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Elect other leaders of partitions, and wait for them.

    Without --partition: all partitions of the topic that need an election.
    """
    if all_topic_partitions == (topic is not None):
        raise UsageError("give a topic, or --all-topic-partitions")
    if all_topic_partitions and partition:
        raise UsageError("--partition names partitions of one topic: give it too")
    wanted: list[dict[str, Any]]
    if partition:
        wanted = [{"topic": topic, "partition": number} for number in partition]
    else:
        wanted = in_need(described(bootstrap_server, cluster), election_type, topic)
    if not wanted:
        sentence = "Every leader is the one that an election would choose."
        tell({"partitions": []}, sentence, as_json=as_json)
        return 0
    kind = election_type.value
    return ask("elect", ("elected", as_json), bootstrap_server, cluster, wanted, kind=kind)


def in_need(
    cluster: dict[str, Any], election_type: ElectionType, topic: str | None
) -> list[dict[str, Any]]:
    """The partitions with a leader that is not preferred, or (unclean) without a live one."""
    require_topic(topic, cluster["topics"])
    live = {broker["broker_id"] for broker in cluster["brokers"]}
    return [
        {"topic": name, "partition": one["partition"]}
        for name, partitions in cluster["topics"].items()
        for one in partitions
        if topic in (None, name)
        and (
            one["leader"] not in live
            if election_type is ElectionType.UNCLEAN
            else one["leader"] != one["assigned_replicas"][0]
        )
    ]


def ask(
    name: str,
    telling: tuple[str, bool],
    bootstrap_server: str | None,
    cluster: Path,
    partitions: list[dict[str, Any]],
    **arguments: object,
) -> int:
    """Print what became of each partition, and the exit code of the worst.

    `telling` is the word for what went well, and whether programs read it.
    """
    done, as_json = telling
    given = json.dumps(partitions)
    rows = []
    for answer in client_process.answers(name, bootstrap_server, cluster, given=given, **arguments):
        if answer["error"] is not None:
            complain(answer["error"])
        elif not as_json:
            say(f"{answer['topic']}-{answer['partition']}: {done}")
        rows.append(answer)
    if as_json:
        show_json({"partitions": rows})
    return max((answer["exit_code"] for answer in rows), default=0)


def wanted_moves(
    topic: str | None, partition: int, replicas: str | None, file: Path | None
) -> list[dict[str, Any]]:
    """The moves of the file, or the one that the options name; raises `UsageError`.

    With None for `replicas` they are taken back: each is to nowhere.
    """
    if file is not None:
        if topic is not None or replicas:
            raise UsageError("--reassignment-json-file names all: leave topic and --replicas out")
        moves = read_file(file)
        if replicas is None:
            return [{**one, "replicas": []} for one in moves]
        _require_targets(file, moves)
        return moves
    target = parse_replicas(replicas) if replicas is not None else []
    return [{"topic": require(topic), "partition": partition, "replicas": target}]


def read_file(path: Path) -> list[dict[str, Any]]:
    """The moves of a file as Kafka's tool takes it; raises `UsageError`."""
    try:
        document = json.loads(path.read_bytes())
        moves = [
            {
                "topic": str(one["topic"]),
                "partition": int(one["partition"]),
                "replicas": [int(broker) for broker in one["replicas"]],
            }
            for one in document["partitions"]
        ]
    except OSError as error:
        raise UsageError(
            f"{path}: {error.strerror}; name a file with --reassignment-json-file"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        where = f" (line {error.lineno}: {error.msg})" if isinstance(error, JSONDecodeError) else ""
        raise UsageError(
            f'{path} is not a reassignment: give {{"partitions": [{{"topic": "t", "partition": 0, '
            f'"replicas": [1, 2]}}]}}{where}'
        ) from error
    _require_each_once(path, moves)
    return moves


def _require_each_once(path: Path, moves: list[dict[str, Any]]) -> None:
    if not moves:
        raise UsageError(f"{path} names no partition: there is nothing to move")
    counts = Counter((one["topic"], one["partition"]) for one in moves)
    twice = [f"{topic}-{partition}" for (topic, partition), count in counts.items() if count > 1]
    if twice:
        raise UsageError(f"{path} names {twice[0]} twice: say once where it goes")


def _require_targets(path: Path, moves: list[dict[str, Any]]) -> None:
    nowhere = [f"{one['topic']}-{one['partition']}" for one in moves if not one["replicas"]]
    if nowhere:
        raise UsageError(
            f"{path} gives {nowhere[0]} no replicas; a move is taken back by `reassign cancel`"
        )


def parse_replicas(text: str) -> list[int]:
    """`1,2,3` as brokers; raises `UsageError`."""
    words = text.split(",")
    if not all(word.strip().isdecimal() for word in words):
        raise UsageError(f"{text!r} is not a list of replicas: give brokers with --replicas 1,2,3")
    return [int(word) for word in words]


def require(topic: str | None) -> str:
    """The topic; raises `UsageError` when none is given."""
    if topic is None:
        raise UsageError("give a topic, or --reassignment-json-file")
    return topic
