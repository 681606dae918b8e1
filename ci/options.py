"""Options that several commands share: their help texts, and what a value must be."""

import re
from pathlib import Path
from typing import Annotated

import typer

from fencepost.ci.gate.failures import UsageError, as_usage
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.reports.analysis.budgets import load_budgets
from fencepost.reports.tables.errors import ReportError
from fencepost.spec.tlc.models import Tier
from fencepost.spec.vocabulary import NEWEST_LEVEL as NEWEST, ProtocolLevel

TierOption = Annotated[Tier, typer.Option(help="How many models, seeds and stories are tried.")]
NEWEST_LEVEL = NEWEST.value
LAST_LEVEL = max(ProtocolLevel).value
"""Of those that can be chosen."""
LEVEL_HELP = f"Protocol level: 0 draft-v3, {NEWEST_LEVEL} the newest, up to {LAST_LEVEL}."
LevelOption = Annotated[int, typer.Option(min=0, max=LAST_LEVEL, help=LEVEL_HELP)]
OptionalLevel = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=LAST_LEVEL,
        help=f"{LEVEL_HELP}  [default: {NEWEST_LEVEL}, or the newest that the target has]",
    ),
]
TargetOption = Annotated[
    str,
    typer.Option(
        "--target",  # told by typer 0.27 as --TARGET otherwise
        metavar="TARGET",
        help="What to run: kafka:RELEASE[@PROTOCOL][+CLIENT][=FOLDER], cmd:PROGRAM or "
        "tcp:HOST:PORT for an adapter, py:MODULE:NAME, or the command that starts a "
        "broker.  [default: the reference]",
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        min=1,
        max=256,
        help="Processes of seeds, models and proofs at a time; 2 unless given.",
    ),
]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of every random choice.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
ZOOKEEPER_METAVAR = "embedded|ensemble|container|containers|HOST:PORT/CHROOT"
ZOOKEEPER_HELP = "One server or three, as processes or in containers, or a running one."
ZookeeperOption = Annotated[str, typer.Option(metavar=ZOOKEEPER_METAVAR, help=ZOOKEEPER_HELP)]
SPARK_MASTER = re.compile(r"local(\[[^]]+\])?|local-cluster\[[^]]+\]|yarn|(spark|k8s|sc)://.+")


def require_spark_master(given: str | None) -> str | None:
    """`given` as it is; raises `UsageError` for what no Spark takes, before anything long."""
    if given is not None and not SPARK_MASTER.fullmatch(given):
        raise UsageError(
            f"{given!r} is not a Spark master; give spark://HOST:PORT, sc://HOST:PORT, "
            "k8s://URL, yarn or local[N], or leave out --spark-master"
        )
    return given


SparkMasterOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Spark master, or sc://HOST:PORT of Spark Connect.  [default: Spark on this machine]",
        callback=require_spark_master,
    ),
]
SummaryOption = Annotated[
    Path | None,
    typer.Option(
        "--summary",
        metavar="FILE",
        help="Write a summary in Markdown; one goes to GITHUB_STEP_SUMMARY where that is set.",
    ),
]
BudgetsOption = Annotated[
    Path | None,
    typer.Option(
        "--budgets",
        metavar="FILE",
        help="What a failover may take, in place of ci/budgets.toml; it is kept in the run.",
    ),
]


def require_budgets(path: Path | None) -> None:
    """Raise `UsageError` for a file that says no budgets, before anything long."""
    if path is not None:
        with as_usage(ReportError):
            load_budgets(path)


def keep_given(path: Path | None, own: Path) -> None:
    """The run has the file as its own, if one was given, so that it is judged by the same again."""
    if path is not None:
        own.write_bytes(path.read_bytes())


ExpectOption = Annotated[
    Path | None,
    typer.Option(
        "--expect",
        metavar="FILE",
        help="Scenarios that are known not to pass, each with its reason; it is kept in the run.",
    ),
]


def require_expectations(path: Path | None) -> None:
    """Raise `UsageError` for a file that cannot be read, or names no scenario of ours."""
    if path is not None:
        from fencepost.conformance.suite.known_scenarios import read_known  # reads all stories

        with as_usage(ChoiceError):
            read_known(path)


OutFolder = Annotated[
    Path | None, typer.Option(help="A new folder for the run.  [default: reports/runs/<run id>]")
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


def require_text(given: str | list[str] | None) -> str | list[str] | None:
    """`given` as it is; raises `UsageError` when some of it is bytes that are no UTF-8."""
    for word in [given] if isinstance(given, str) else given or ():
        try:
            word.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"{word!r} is not UTF-8 text; topics and records are") from error
    return given


TopicName = Annotated[str, typer.Argument(metavar="TOPIC", callback=require_text)]
PartitionNumber = Annotated[int, typer.Option(min=0)]
PartitionNumbers = Annotated[
    list[int], typer.Option("--partition", min=0, help="A partition's number; may be given again.")
]
OptionalPartitionNumbers = Annotated[
    list[int] | None,
    typer.Option("--partition", min=0, help="A partition's number; may be given again."),
]
