"""Parquet is used again as long as it is of the same files, and of this version."""

import os
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from fencepost.ci.gate.runs import existing_run
from fencepost.reports.tables.errors import ReportError
from fencepost.reports.tables.folders import PARQUET, SOURCES, trace_folders
from fencepost.reports.tables.ingest import convert_file
from fencepost.reports.tables.parts import FileTask
from fencepost.reports.tables.sources import (
    LAYOUT,
    StoredTables,
    forget_tables,
    stamps_of,
    stored_tables,
    tables_to_start_from,
)
from tests.reports.stories import failover_story


@pytest.fixture
def run(tmp_path: Path) -> Path:
    failover_story("r").save(tmp_path)
    return tmp_path


@pytest.fixture
def stored(run: Path) -> StoredTables:
    folders = trace_folders(run)
    health = [
        convert_file(FileTask(folder=0, source=run / name, buckets=2), run / PARQUET)
        for name in folders[0].files
    ]
    tables = StoredTables(folders=folders, stamps=stamps_of(run, folders), health=tuple(health))
    tables.save(run / PARQUET)
    return tables


def test_what_was_saved_is_found_and_is_of_the_same_files(run: Path, stored: StoredTables) -> None:
    assert stored_tables(run / PARQUET) == stored
    assert stored.are_of(run, trace_folders(run))


def test_a_file_that_was_only_touched_is_the_same(run: Path, stored: StoredTables) -> None:
    os.utime(run / "trace-client-1.ndjson", (1, 1))

    assert stored.are_of(run, trace_folders(run))


def test_a_file_of_the_same_size_with_other_bytes_is_another(
    run: Path, stored: StoredTables
) -> None:
    path = run / "trace-client-1.ndjson"
    path.write_bytes(path.read_bytes().replace(b"client-1", b"client-2"))
    os.utime(path, (1, 1))

    assert not stored.are_of(run, trace_folders(run))


def test_with_one_file_more_the_parquet_is_of_other_files(run: Path, stored: StoredTables) -> None:
    (run / "trace-broker-9.ndjson").touch()

    assert not stored.are_of(run, trace_folders(run))


def test_parquet_that_was_not_finished_is_none(run: Path, stored: StoredTables) -> None:
    forget_tables(run / PARQUET)

    assert stored.health
    assert stored_tables(run / PARQUET) is None
    assert tables_to_start_from(run / PARQUET) is None


@pytest.mark.parametrize("text", [b"{", b"", None])
def test_parquet_of_another_version_is_one_sentence(
    run: Path, stored: StoredTables, text: bytes | None
) -> None:
    other = msgspec.json.encode(replace(stored, layout=LAYOUT + 1))
    (run / PARQUET / SOURCES).write_bytes(other if text is None else text)

    assert existing_run(run / PARQUET) == run / PARQUET
    with pytest.raises(ReportError, match="written by another version of Fencepost; name the run"):
        tables_to_start_from(run / PARQUET)
    found = stored_tables(run / PARQUET)
    assert found is None or not found.are_of(run, trace_folders(run))
