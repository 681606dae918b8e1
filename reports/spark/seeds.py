"""Spreads seeds of the simulator over a Spark cluster, with the results in the order of seeds."""

import pickle
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from fencepost.conformance.worker_pool import Spread
from fencepost.reports.spark.executors import collected, reason_of
from fencepost.reports.spark.session import spark_session
from fencepost.reports.tables.errors import ReportError
from fencepost.reports.tables.schema import ArrowFunction

A = TypeVar("A")
R = TypeVar("R")

CHUNKS_AHEAD = 8
"""Per core of the cluster; a caller that stops early wastes no more than these."""
_MANY = 1 << 20
"""Rows for the cores of any cluster."""


def on_spark(master: str) -> Spread:
    """As `in_order`, on the cores of `master`; raises `ReportError` when Spark or a task fails."""

    def spread(
        function: Callable[[A], R], arguments: Sequence[A], *, jobs: int, chunk: int
    ) -> Generator[R, None, None]:
        del jobs  # the cluster has as many cores as it has
        with spark_session(master) as spark:
            chunks = CHUNKS_AHEAD * _cores(spark)
            for at in range(0, len(arguments), chunks * chunk):
                batch = arguments[at : at + chunks * chunk]
                yield from _results(spark, function, batch, slices=-(-len(batch) // chunk))

    return spread


def _cores(spark: SparkSession) -> int:
    """As many as Spark makes partitions when it is told no number: Spark Connect tells no more."""
    numbers = spark.range(_MANY).selectExpr("spark_partition_id() AS number")
    return numbers.distinct().count()


def _results(
    spark: SparkSession, function: Callable[[Any], R], batch: Sequence[Any], *, slices: int
) -> list[R]:
    numbers = spark.range(0, len(batch), 1, slices)
    frame = numbers.mapInArrow(_worker(function, batch), "result binary")
    try:
        return [pickle.loads(row.result) for row in collected(frame)]  # noqa: S301 - of our own tasks
    except PySparkException as error:
        raise _failed(error) from error
    except Exception as error:
        if type(error).__module__.startswith("py4j"):
            raise _failed(error) from error
        raise


def _worker(function: Callable[[Any], R], batch: Sequence[Any]) -> ArrowFunction:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for numbers in batches:
            results = [function(batch[number]) for number in numbers.column(0).to_pylist()]
            yield pa.RecordBatch.from_pydict({"result": [*map(pickle.dumps, results)]})

    return run


def _failed(error: Exception) -> ReportError:
    return ReportError(
        f"Spark could not run the seeds: {reason_of(error)}", "see the executors' logs"
    )
