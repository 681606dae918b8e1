"""`fencepost faults list|explain|schema`: the catalogue as the engine reads it."""

import json

import pytest

from fencepost.ci.cli import run
from fencepost.ci.pages.generated import ROOT
from fencepost.fault_injection.faults.catalogue import KINDS
from fencepost.fault_injection.stories.story_schema import SCHEMA


def test_every_kind_has_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["faults", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["faults"]
    assert run(["faults", "list"]) == 0
    table = capsys.readouterr().out

    assert [row["kind"] for row in rows] == list(KINDS)
    assert all(f"{kind} " in table for kind in KINDS)


def test_a_kind_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["faults", "explain", "zk.failover"]) == 0
    told = capsys.readouterr().out

    assert "how long the election takes" in told
    assert "evidence: " in told
    assert "undone by: " in told


def test_the_schema_is_what_is_committed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["faults", "schema"]) == 0

    assert capsys.readouterr().out == (ROOT / SCHEMA).read_text()


def test_an_unknown_kind_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["faults", "explain", "proc.nap"]) == 4

    assert "unknown fault 'proc.nap'; choose one of admin.add_partitions" in capsys.readouterr().err
