"""Our check of logs beside porcupine: `python -m fencepost.ci.bench.peers.porcupine`.

The same histories, one thread each, seconds of processor, and the same verdict or the bench ends.
Of porcupine its check alone counts, of ours the kernels on columns that are read, and beside them
what reading costs: Arrow parsing JSON, and a scan of Parquet without a check. Needs Go on the PATH,
which fetches porcupine as the module that `go/go.sum` names.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import TypeVar

import msgspec
import pyarrow.json as pj
import pyarrow.parquet as pq

from fencepost.ci.bench.peers.histories import HistorySize, history, write_lines, write_trace
from fencepost.ci.screens.console import say, show_table
from fencepost.conformance.checks.linearizable_log import check
from fencepost.conformance.checks.ordering import split_by_partition
from fencepost.reports.kernels.bucket_rows import KERNEL_COLUMNS, BucketRows
from fencepost.reports.kernels.client_logs import judge_clients, operations_of
from fencepost.reports.tables.buckets import bucket_names, read_bucket, read_split
from fencepost.reports.tables.ingest import convert_file
from fencepost.reports.tables.parts import FileTask
from fencepost.reports.tables.schema import arrow_schema

T = TypeVar("T")

SOURCE = Path(__file__).with_name("go")
SIZES = (
    HistorySize(operations=100, partitions=100, clients=10),
    HistorySize(operations=1_000, partitions=10, clients=10),
    HistorySize(operations=10_000, partitions=1, clients=10),
    HistorySize(operations=10_000, partitions=10, clients=10),
    HistorySize(operations=100_000, partitions=1, clients=10),
)
SEED = 7
TARGET = 5
"""Not met with 100 operations in a partition: 4.4 were measured, then 7.2, 22 and 17.

There porcupine asks 1 us for each operation and the kernels 0.22, a quarter of what it takes to
read Parquet alone.
"""
DENSE = 100_000
"""Operations in a partition, from which on the target is larger."""
DENSE_TARGET = 100
"""Measured were 172 times."""
ROUNDS = 3
"""The best of so many counts."""
ONE_THREAD = {"GOMAXPROCS": "1"}


class PorcupineAnswer(msgspec.Struct, frozen=True):
    """What the Go program prints."""

    seconds: float
    illegal: list[int]
    peak_mb: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What one history cost, in seconds of processor."""

    size: HistorySize
    porcupine: PorcupineAnswer
    kernels_s: float
    definition_s: float
    json_s: float
    parquet_s: float

    @property
    def target(self) -> int:
        """How many times as fast as porcupine the kernels are to be."""
        return DENSE_TARGET if self.size.operations >= DENSE else TARGET

    @property
    def cells(self) -> list[str]:
        """The line of the table."""
        peer = self.porcupine.seconds
        return [
            str(self.size),
            f"{peer:.3f} s, {self.porcupine.peak_mb:,.0f} MB",
            f"{self.kernels_s:.4f} s",
            f"{peer / self.kernels_s:.1f}",
            f"{self.target}",
            f"{self.definition_s:.3f} s",
            f"{peer / self.definition_s:.1f}",
            f"{self.json_s:.3f} s",
            f"{self.parquet_s:.4f} s",
        ]


def build(folder: Path) -> Path:
    """The Go program; raises `SystemExit` where it cannot be built."""
    go = shutil.which("go")
    if go is None:
        raise SystemExit("porcupine is written in Go, and there is no go on the PATH: install it")
    source, program = folder / "go", folder / "porcupine"
    shutil.copytree(SOURCE, source)
    built = subprocess.run(
        [go, "build", "-o", program, "."], cwd=source, capture_output=True, text=True, check=False
    )
    if built.returncode:
        told = built.stderr.strip().splitlines()[-1:]
        raise SystemExit(f"porcupine cannot be built: {' '.join(told) or 'go failed'}")
    return program


def compare(program: Path, size: HistorySize, folder: Path) -> Compared:
    """Both checkers on one history; raises `SystemExit` where they do not agree."""
    folder.mkdir()
    operations = history(size, SEED)
    write_lines(operations, folder / "operations")
    trace = write_trace(operations, folder)
    del operations
    target = folder / "columns"
    convert_file(FileTask(folder=0, source=trace, buckets=1), target)
    (bucket,) = bucket_names(target, 0)
    rows = BucketRows(read_split(target, 0, bucket, KERNEL_COLUMNS))
    kernels_s, suspicious = _best(lambda: _kernels(rows))
    by_partition = split_by_partition(read_bucket(target, 0, bucket))
    definition_s, violated = _best(
        lambda: {key.partition for key, own in by_partition.items() if check(own).violations}
    )
    answer = _ask(program, folder / "operations")
    if not (suspicious == violated == set(answer.illegal)):
        raise SystemExit(
            f"{size}: porcupine finds {answer.illegal} illegal, the kernels {sorted(suspicious)}, "
            f"the definition {sorted(violated)}"
        )
    files = sorted(target.rglob("*.parquet"))
    options = pj.ParseOptions(explicit_schema=arrow_schema())
    alone = pj.ReadOptions(use_threads=False)
    return Compared(
        size=size,
        porcupine=answer,
        kernels_s=kernels_s,
        definition_s=definition_s,
        json_s=_best(lambda: pj.read_json(trace, alone, options).num_rows)[0],
        parquet_s=_best(lambda: [_scan(path) for path in files])[0],
    )


def _kernels(rows: BucketRows) -> set[int]:
    """The partitions in doubt."""
    found, _ = judge_clients(rows, operations_of(rows))
    return {rows.name(int(code)).partition for code in found.suspicious.nonzero()[0]}


def _scan(path: Path) -> int:
    return int(pq.read_table(path, partitioning=None, use_threads=False).num_rows)


def _ask(program: Path, operations: Path) -> PorcupineAnswer:
    done = subprocess.run(
        [program, operations],
        env={**os.environ, **ONE_THREAD},
        stdout=subprocess.PIPE,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"porcupine gave no answer: it ended with {done.returncode}")
    return msgspec.json.decode(done.stdout, type=PorcupineAnswer)


def _best(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds of processor, and what `work` returns."""
    return min((_timed(work) for _ in range(ROUNDS)), key=lambda found: found[0])


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    begun = process_time()
    result = work()
    return process_time() - begun, result


def main() -> None:
    """Compare all histories and tell."""
    with TemporaryDirectory() as name:
        scratch = Path(name)
        program = build(scratch)
        compared = [
            compare(program, size, scratch / f"{place}") for place, size in enumerate(SIZES)
        ]
    columns = ("history", "porcupine", "kernels", "ratio", "target", "definition", "ratio")
    show_table(
        "logs, beside porcupine",
        (*columns, "JSON read alone", "Parquet read alone"),
        [one.cells for one in compared],
    )
    say("Seconds of processor, one thread; a ratio is porcupine's over ours. Verdicts are equal.")


if __name__ == "__main__":
    main()
