"""Spreads seeds of the simulator over a Spark cluster, with the results in the order of seeds.

Executors import this checkout from the path that it has here; what they answer is pickled.
"""

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

from pyspark.errors import PySparkException

from fencepost.conformance.worker_pool import Spread
from fencepost.reports.spark.session import spark_session
from fencepost.reports.tables.errors import ReportError

A = TypeVar("A")
R = TypeVar("R")

CHUNKS_AHEAD = 8
"""Per core of the cluster; a caller that stops early wastes no more than these."""


def on_spark(master: str) -> Spread:
    """As `in_order`, on the cores of `master`; raises `ReportError` when Spark or a task fails."""

    def spread(
        function: Callable[[A], R], arguments: Sequence[A], *, jobs: int, chunk: int
    ) -> Generator[R, None, None]:
        del jobs  # the cluster has as many cores as it has
        with spark_session(master) as spark:
            context = spark.sparkContext
            chunks = CHUNKS_AHEAD * context.defaultParallelism
            for at in range(0, len(arguments), chunks * chunk):
                batch = arguments[at : at + chunks * chunk]
                slices = -(-len(batch) // chunk)
                try:
                    results = context.parallelize(batch, slices).map(function).collect()
                except PySparkException as error:
                    raise _failed(error) from error
                except Exception as error:
                    if type(error).__module__.startswith("py4j"):
                        raise _failed(error) from error
                    raise
                yield from results

    return spread


def _failed(error: Exception) -> ReportError:
    told = str(error).strip().split("\n")[-1]
    return ReportError(f"Spark could not run the seeds: {told[:300]}", "see the executors' logs")
