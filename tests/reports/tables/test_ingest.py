"""Every line of a trace file is an event in its bucket, or counted as torn or foreign."""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fencepost.conformance.checks.ordering import partition_of_event
from fencepost.conformance.verdict import Verdict
from fencepost.reports.tables import blocks, numbering
from fencepost.reports.tables.buckets import BULK, SHARED, bucket_names, bucket_of, read_bucket
from fencepost.reports.tables.errors import ReportError
from fencepost.reports.tables.folders import trace_folders
from fencepost.reports.tables.health import FileHealth
from fencepost.reports.tables.ingest import FOREIGN, convert_file
from fencepost.reports.tables.numbering import NodeNumbers
from fencepost.reports.tables.parts import FileTask, sweep, whole_part
from fencepost.spec.trace import Kind, TraceEvent, encode, encode_all
from tests.reports.aggregated import analysed
from tests.reports.stories import Story, failover_story


def convert(tmp_path: Path, text: bytes) -> FileHealth:
    source = tmp_path / "trace-client-1.ndjson"
    tmp_path.mkdir(exist_ok=True)
    source.write_bytes(text)
    return convert_file(FileTask(folder=0, source=source, buckets=4), tmp_path / "parquet")


def stored(tmp_path: Path) -> dict[str, list[TraceEvent]]:
    target = tmp_path / "parquet"
    return {name: read_bucket(target, 0, name) for name in [SHARED, *bucket_names(target, 0)]}


def line_number(event: TraceEvent) -> tuple[str, int, int]:
    return event.node, event.incarnation, event.seq


def test_every_event_is_stored_once_in_the_bucket_of_its_partition(tmp_path: Path) -> None:
    events = failover_story("r").events

    health = convert(tmp_path, b"".join(encode_all(events)))

    buckets = stored(tmp_path)
    assert (health.lines, health.events) == (len(events), len(events))
    assert sum(len(rows) for rows in buckets.values()) == len(events)
    assert all(partition_of_event(event) is None for event in buckets[SHARED])
    assert {bucket_of(e, 4) for e in events if e.topic} <= set(buckets)


def test_zookeeper_lines_are_stored_with_the_partition_that_their_path_names(
    tmp_path: Path,
) -> None:
    convert(tmp_path, b"".join(encode_all(failover_story("r").events)))

    shared = stored(tmp_path)[SHARED]
    assert not [event for event in shared if (event.path or "").endswith("leaderAndISR")]


def test_the_events_of_a_partition_are_found_among_those_of_others(tmp_path: Path) -> None:
    events = [*failover_story("r").events, *failover_story("r", topic="payments").events]
    orders = {partition for event in events if (partition := partition_of_event(event))}
    convert(tmp_path, b"".join(encode_all(events)))
    target = tmp_path / "parquet"

    for partition in orders:
        found = [
            event
            for bucket in bucket_names(target, 0)
            for event in read_bucket(target, 0, bucket, partition=partition)
        ]
        own = [event for event in events if partition_of_event(event) == partition]
        assert found == sorted(own, key=lambda event: event.action in BULK)
    assert len(orders) == 2


def test_a_torn_line_is_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    lines = b"".join(encode_all(failover_story("r").events[:3]))

    health = convert(tmp_path, lines + b'{"run_id":"r","no')

    assert (health.events, health.torn_lines, health.foreign_lines) == (3, 1, 0)


def test_foreign_lines_are_counted_and_named(tmp_path: Path) -> None:
    first, second = list(encode_all(failover_story("r").events[:2]))

    health = convert(tmp_path, b"hello\n" + first + b"{}\n" + second)

    assert (health.lines, health.events) == (4, 2)
    assert (health.foreign_lines, health.foreign_examples) == (2, [1, 3])


def test_a_number_that_no_column_holds_makes_its_line_foreign(tmp_path: Path) -> None:
    event = encode(Story("r").emit("client-1", Kind.INVOKE, "Fetch", offset=1))
    oversized = event.replace(b'"offset":1', b'"offset":' + b"9" * 19)

    health = convert(tmp_path, event + oversized)

    assert (health.events, health.foreign_lines, health.foreign_examples) == (1, 1, [2])


def test_lines_that_are_no_events_are_kept_with_file_and_number(tmp_path: Path) -> None:
    (event,) = encode_all(failover_story("r").events[:1])

    convert(tmp_path, event + b'"\xff"\n{"run_id":"r')

    (kept,) = (tmp_path / "parquet" / FOREIGN).rglob("*.jsonl")
    assert [json.loads(line) for line in kept.read_text().splitlines()] == [
        {"file": "trace-client-1.ndjson", "line": 2, "bytes": 3, "text": '"\\xff"'},
        {"file": "trace-client-1.ndjson", "line": 3, "bytes": 12, "text": '{"run_id":"r'},
    ]


def test_a_line_longer_than_any_event_is_foreign_and_its_beginning_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "LINE_BYTES_MAX", 1000)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 400)
    events = list(encode_all(failover_story("r").events[:2]))
    longest = events[0].rstrip(b"\n") + b" " * 3000

    health = convert(tmp_path, events[0] + longest + b"\n" + events[1])

    assert (health.lines, health.events, health.foreign_examples) == (3, 2, [2])


GIGABYTE = 1_000_000_000
IN_LESS_MEMORY = """
import resource, sys
from pathlib import Path
from fencepost.reports.tables.ingest import convert_file
from fencepost.reports.tables.parts import FileTask
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]),) * 2)
source = Path(sys.argv[1])
health = convert_file(FileTask(folder=0, source=source, buckets=4), source.parent / "parquet")
print(health.events, health.foreign_lines, health.torn_lines)
"""


@pytest.mark.long
@pytest.mark.parametrize(("end", "told"), [("", "1 0 1"), ("\n", "1 1 0")])
def test_a_line_of_a_gigabyte_is_read_in_less_memory_than_it_is_long(
    tmp_path: Path, end: str, told: str
) -> None:
    source = tmp_path / "trace-client-1.ndjson"
    with source.open("wb") as stream:
        stream.write(encode(failover_story("r").events[0]))
        stream.seek(GIGABYTE, os.SEEK_CUR)
        stream.write(b"x" + end.encode())
    own = {"OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}

    done = subprocess.run(
        [sys.executable, "-c", IN_LESS_MEMORY, str(source), str(GIGABYTE)],
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.strip() == told, done.stderr[-2000:]


@pytest.mark.parametrize("block_bytes", [1, 7, 100, 1 << 20])
def test_blocks_are_the_file_whatever_their_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", block_bytes)
    text = b"\n\nfirst\nsecond\n\nthe end was cut o"
    source = tmp_path / "trace-x.ndjson"
    source.write_bytes(text)
    read = blocks.TraceBlocks(source)

    found = list(read)

    assert b"".join(found) == text
    assert all(block.endswith(b"\n") for block in found[:-1])
    assert read.digest == hashlib.sha256(text).hexdigest()


@pytest.mark.parametrize("part_bytes", [1, 2, 7, 30, 1 << 20])
@pytest.mark.parametrize("block_bytes", [1, 5, 1 << 20])
def test_the_parts_of_a_file_are_its_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part_bytes: int, block_bytes: int
) -> None:
    monkeypatch.setattr(blocks, "PART_BYTES", part_bytes)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", block_bytes)
    text = b"\n\nfirst\na line that is longer than a part\n\nlast\nthe end was cut o"
    source = tmp_path / "trace-x.ndjson"
    source.write_bytes(text)

    parts = [blocks.TraceBlocks(source, part) for part in range(blocks.parts_of(len(text)))]
    found = [b"".join(part) for part in parts]

    assert b"".join(found) == text
    for number, part in enumerate(found):
        begin = len(b"".join(found[:number]))
        own = range(number * part_bytes, (number + 1) * part_bytes)
        assert not part or begin in own
        assert parts[number].digest == hashlib.sha256(text[own.start : own.stop]).hexdigest()


def test_a_file_in_parts_is_read_as_one_in_one_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = list(encode_all(failover_story("r").events))
    text = b"".join([*lines[:5], b"hello\n", *lines[6:20], *lines[10:30], b"{}\n", *lines[30:]])
    whole = convert(tmp_path / "whole", text + b"torn")
    monkeypatch.setattr(blocks, "PART_BYTES", 1000)

    parts = convert(tmp_path / "parts", text + b"torn")

    assert len(list((tmp_path / "parts").rglob("*~*.json"))) > 3
    assert replace(parts, digest="") == replace(whole, digest="")
    assert whole.missing_lines
    assert whole.doubled_lines
    in_parts, in_whole = (stored(tmp_path / name) for name in ("parts", "whole"))
    assert in_parts.keys() == in_whole.keys()
    for bucket, events in in_whole.items():
        assert sorted(in_parts[bucket], key=line_number) == sorted(events, key=line_number)
    kept = [(tmp_path / name / "parquet" / FOREIGN).rglob("*.jsonl") for name in ("parts", "whole")]
    foreign = [[path.read_text() for path in paths] for paths in kept]
    assert foreign[0] == foreign[1]


@given(st.lists(st.integers(-1, 12), max_size=20), st.lists(st.integers(0, 20), max_size=4))
@settings(max_examples=200, deadline=None)
def test_numbers_are_followed_from_part_to_part(numbers: list[int], cuts: list[int]) -> None:
    greatest, missing, doubled = -1, 0, 0
    for number in numbers:
        missing += max(0, number - greatest - 1)
        doubled += number <= greatest
        greatest = max(greatest, number)

    found, last = [0, 0], -1
    for start, end in pairwise(sorted([0, *cuts, len(numbers)])):
        part = NodeNumbers(node="client-1", incarnation=0)
        for number in numbers[start:end]:
            part.add(np.array([number]))
        at_once = NodeNumbers(node="client-1", incarnation=0)
        at_once.add(np.array(numbers[start:end], np.int64))
        assert part == at_once
        *counts, last = part.after(last)
        found = [before + now for before, now in zip(found, counts, strict=True)]

    assert found == [missing, doubled]


def test_numbers_beyond_those_that_are_kept_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbering, "RUNS_MAX", 2)
    part = NodeNumbers(node="client-1", incarnation=0)
    for block in ([0, 1, 2], [5, 6, 9], [10, 3, 12]):
        part.add(np.array(block))

    assert part.runs == [(0, 2), (5, 6)]
    assert part.after(-1) == (5, 1, 12)


def test_a_part_is_whole_only_of_the_file_as_it_is_now(tmp_path: Path) -> None:
    convert(tmp_path, b"".join(encode_all(failover_story("r").events)))
    source, target = tmp_path / "trace-client-1.ndjson", tmp_path / "parquet"
    (task,) = FileTask(folder=0, source=source, buckets=4).split()

    assert whole_part(task, target)
    assert not whole_part(replace(task, buckets=5), target)
    os.utime(source, (1, 1))
    (touched,) = FileTask(folder=0, source=source, buckets=4).split()
    assert not whole_part(touched, target)
    sweep(target, [task])
    assert stored(tmp_path)[SHARED]
    sweep(target, [])
    assert not [path for path in target.rglob("*") if path.is_file()]


def test_a_gap_in_the_numbers_of_a_node_is_counted(tmp_path: Path) -> None:
    events = failover_story("r").events
    harness = [event for event in events if event.node == "harness"]

    health = convert(tmp_path, b"".join(encode_all([harness[0], *harness[2:]])))

    assert health.missing_lines == 1


def test_folders_with_traces_are_found_in_order(tmp_path: Path) -> None:
    failover_story("a").save(tmp_path / "simulate" / "z")
    failover_story("b").save(tmp_path / "chaos" / "a")
    (tmp_path / "parquet").mkdir()
    (tmp_path / "parquet" / "trace-x.ndjson").touch()

    assert [folder.name for folder in trace_folders(tmp_path)] == ["chaos/a", "simulate/z"]


def test_traces_that_an_implementation_keeps_below_its_run_are_no_run(tmp_path: Path) -> None:
    story = failover_story("a")
    story.save(tmp_path / "quiet")
    story.save(tmp_path / "quiet" / "told")
    (tmp_path / "quiet" / "told" / "trace-harness.ndjson").unlink()
    failover_story("b").save(tmp_path / "quiet" / "repaired")

    analysis = analysed(tmp_path, tmp_path / "scratch")

    assert [folder.name for folder in analysis.folders] == ["quiet", "quiet/repaired"]
    assert analysis.verdicts["traces"] is Verdict.PASS


def test_a_run_without_the_trace_of_the_harness_is_a_run(tmp_path: Path) -> None:
    failover_story("a").save(tmp_path / "chaos" / "a")
    (tmp_path / "chaos" / "a" / "trace-harness.ndjson").unlink()

    assert [folder.name for folder in trace_folders(tmp_path)] == ["chaos/a"]


@pytest.mark.parametrize("make", [True, False])
def test_a_folder_without_traces_is_one_clear_sentence(tmp_path: Path, make: bool) -> None:
    run = tmp_path / "run"
    if make:
        run.mkdir()

    with pytest.raises(ReportError, match=r"trace-|not a folder") as caught:
        trace_folders(run)

    assert "\n" not in str(caught.value)
