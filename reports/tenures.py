"""What Spark SQL tells of a run's leadership: one small row per tenure, fault and bin of writes.

A tenure is one leader epoch of one partition. The rows are bounded by the number of elections,
faults and pixels, never by the number of records.
"""

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from reports.ingest import SHARED
from reports.schema import spark_schema

BINS = 240
"""Columns of a timeline picture, in which acknowledged writes are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenure:
    """When each step towards one leader epoch was first seen; None where it was not."""

    folder: int
    topic: str
    partition: int
    leader_epoch: int
    leader: int | None
    decided_ns: int | None
    published_ns: int | None
    told_ns: int | None
    leading_ns: int | None
    first_acknowledged_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedRow:
    """A line about no partition that tells of faults, brokers or controllers."""

    folder: int
    action: str
    mono_ns: int
    node: str
    broker_id: int | None
    controller_id: int | None
    live_brokers: list[int] | None
    fault_id: str | None
    fault: str | None
    phase: str | None
    target: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteBin:
    """Acknowledged records of one partition within one column of the picture."""

    folder: int
    topic: str
    partition: int
    column: int
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Leadership:
    """All of it."""

    tenures: tuple[Tenure, ...]
    shared: tuple[SharedRow, ...]
    writes: tuple[WriteBin, ...]


def read_leadership(
    spark: SparkSession, target: Path, spans_ns: dict[int, tuple[int, int]]
) -> Leadership:
    """Aggregate the Parquet below `target`; `spans_ns` holds first and last stamp per folder."""
    frame = spark.read.schema(spark_schema()).parquet(str(target))
    frame.createOrReplaceTempView("trace")
    spans = [(folder, first, max(last, first + 1)) for folder, (first, last) in spans_ns.items()]
    spark.createDataFrame(
        spans, "folder long, first_ns long, last_ns long"
    ).createOrReplaceTempView("span")
    return Leadership(
        tenures=tuple(Tenure(**row.asDict()) for row in spark.sql(_TENURES).collect()),
        shared=tuple(SharedRow(**row.asDict()) for row in _shared(frame).collect()),
        writes=tuple(WriteBin(**row.asDict()) for row in spark.sql(_WRITES).collect()),
    )


_TENURES = """
SELECT folder, topic, partition, leader_epoch,
       min_by(leader, mono_ns) FILTER (WHERE leader IS NOT NULL) AS leader,
       min(mono_ns) FILTER (WHERE action IN ('ElectLeader', 'InitLeader')) AS decided_ns,
       min(mono_ns) FILTER (WHERE action = 'PublishDecision') AS published_ns,
       min(mono_ns) FILTER (WHERE action = 'SendLeaderAndIsr'
                            AND peer = concat('broker-', leader)) AS told_ns,
       min(mono_ns) FILTER (WHERE action = 'BecomeLeader') AS leading_ns,
       min(mono_ns) FILTER (WHERE kind = 'complete') AS first_acknowledged_ns
FROM trace
WHERE topic IS NOT NULL AND partition IS NOT NULL AND leader_epoch IS NOT NULL
  AND (action IN ('ElectLeader', 'InitLeader', 'PublishDecision', 'SendLeaderAndIsr',
                  'BecomeLeader')
       OR (kind = 'complete' AND action = 'Produce' AND outcome = 'ok' AND acks = -1))
GROUP BY folder, topic, partition, leader_epoch
ORDER BY folder, topic, partition, leader_epoch
"""

_WRITES = f"""
SELECT folder, topic, partition,
       CAST(least({BINS - 1}, floor((mono_ns - first_ns) * {BINS} / (last_ns - first_ns))) AS LONG)
         AS column,
       CAST(sum(size(values)) AS LONG) AS records
FROM trace JOIN span USING (folder)
WHERE kind = 'complete' AND action = 'Produce' AND outcome = 'ok' AND acks = -1
  AND topic IS NOT NULL AND partition IS NOT NULL AND values IS NOT NULL
GROUP BY folder, topic, partition, column
ORDER BY folder, topic, partition, column
"""  # noqa: S608 - the only number put in is our own constant


def _shared(frame: DataFrame) -> DataFrame:
    actions = ("DetectBrokerChange", "ElectController", "NodeStarted")
    columns = list(SharedRow.__dataclass_fields__)
    wanted = frame.action.isin(*actions) | (frame.kind == "fault")
    rows = frame.where((frame.bucket == SHARED) & wanted).select(columns)
    return rows.orderBy("folder", "mono_ns", "node", "action", "fault_id")
