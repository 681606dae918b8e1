"""A worker of Spark that runs out of memory is told in one sentence, and nothing is half-made."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from fencepost.reports.tables.folders import PARQUET
from fencepost.reports.tables.sources import tables_to_start_from
from fencepost.spec.trace import encode
from tests.reports.stories import failover_story

pytestmark = pytest.mark.spark


@pytest.mark.long
def test_too_little_memory_is_one_sentence(tmp_path: Path) -> None:
    story = failover_story("r")
    story.save(tmp_path)
    asked = next(event for event in story.events if event.node == "client-1")
    with (tmp_path / "trace-client-1.ndjson").open("ab") as stream:
        for _ in range(4):
            stream.write(encode(replace(asked, detail="x" * 60_000_000)))
    limit = "--conf spark.executor.pyspark.memory=500m pyspark-shell"

    done = subprocess.run(
        [sys.executable, "-m", "fencepost.ci", "report", str(tmp_path)],
        env={**os.environ, "PYSPARK_SUBMIT_ARGS": limit, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )

    told = f"there is not enough memory to judge {tmp_path}; let fewer tasks run at a time"
    assert told in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert done.returncode == 3
    assert tables_to_start_from(tmp_path / PARQUET) is None
