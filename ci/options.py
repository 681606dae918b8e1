"""Options that several commands share: their help texts, defaults, and what must hold first."""

import re
from pathlib import Path
from typing import Annotated

import typer

from fencepost.ci.gate.failures import HarnessError, UsageError, as_usage
from fencepost.ci.gate.tiers import GateTier
from fencepost.conformance.adapters.choices import OWN, PROXY

TierOption = Annotated[
    GateTier, typer.Option(help="How many models, seeds and scenarios are tried.")
]
LevelOption = Annotated[
    int, typer.Option(min=0, max=2, help="Protocol level: 0 draft-v3, 2 the newest.")
]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of every random choice.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
ZookeeperOption = Annotated[
    str,
    typer.Option(
        metavar="embedded|ensemble|container|containers|HOST:PORT/CHROOT",
        help="One server or an ensemble of three, as processes or in containers, or a running one.",
    ),
]
SPARK_MASTER = re.compile(r"local(\[[^]]+\])?|local-cluster\[[^]]+\]|yarn|(spark|k8s)://.+")


def require_spark_master(given: str | None) -> str | None:
    """`given` as it is; raises `UsageError` for what no Spark takes, before anything long."""
    if given is not None and not SPARK_MASTER.fullmatch(given):
        raise UsageError(
            f"{given!r} is not a Spark master; give spark://HOST:PORT, k8s://URL, yarn or "
            "local[N], or leave out --spark-master"
        )
    return given


SparkMasterOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="Default: Spark on this machine.", callback=require_spark_master
    ),
]
OutFolder = Annotated[
    Path | None, typer.Option(help="A new folder.  [default: reports/runs/<run id>]")
]
ClusterFolder = Annotated[
    Path, typer.Option("--cluster", metavar="DIR", help="Folder of the local cluster.")
]
BootstrapServers = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-server",
        metavar="HOST:PORT[,...]",
        help="Brokers of any cluster.  [default: those of the local cluster]",
    ),
]
ANSWER_DEADLINE_S = 5.0
"""A ZooKeeper that takes longer to grant a session is not one to measure failovers on."""
NEWEST_LEVEL = 2
DEFAULT_CLUSTER = Path(".fencepost") / "cluster"


def require_text(given: str | list[str] | None) -> str | list[str] | None:
    """`given` as it is; raises `UsageError` when some of it is bytes that are no UTF-8."""
    for word in [given] if isinstance(given, str) else given or ():
        try:
            word.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"{word!r} is not UTF-8 text; topics and records are") from error
    return given


TopicName = Annotated[str, typer.Argument(metavar="TOPIC", callback=require_text)]
PartitionNumbers = Annotated[
    list[int], typer.Option("--partition", min=0, help="May be given again.")
]
OptionalPartitionNumbers = Annotated[
    list[int] | None, typer.Option("--partition", min=0, help="May be given again.")
]


def enter_network(choice: str) -> None:
    """This process is where a run with that network must be started from.

    Of namespaces, that is a network of our own, so that the machine's is left alone. Raises
    `HarnessError` when there can be none.
    """
    if choice == PROXY:
        return
    from fencepost.fault_injection.network.namespaces.links import (
        NoNamespacesError,
        enter_own_network,
    )

    try:
        enter_own_network()
    except NoNamespacesError as error:
        raise HarnessError(f"skipped: {error}") from error


def check_zookeeper(choice: str) -> None:
    """Return when `choice` will do: one of our own, or an address where a ZooKeeper answers.

    Raises `UsageError` for what is no address, `ZooKeeperError` without an answer.
    """
    if choice in OWN:
        return
    from fencepost.fault_injection.zookeeper.server import check_external
    from fencepost.spec.zookeeper import AddressError

    with as_usage(AddressError):
        check_external(choice, deadline_s=ANSWER_DEADLINE_S)
