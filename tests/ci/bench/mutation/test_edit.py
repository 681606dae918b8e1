"""Keys stay when lines move, and samples when texts change elsewhere."""

from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.ci.bench.mutation.edit import Edit, numbered, sample
from fencepost.ci.bench.mutation.python.python_edits import python_edits
from fencepost.ci.bench.mutation.python.scratch_tree import modules_of
from fencepost.ci.bench.mutation.reasons import FOLDER, ListedEdit, Reasons, read_reasons
from fencepost.ci.bench.mutation.spec_rows import protocol_of, rows_of
from fencepost.ci.bench.mutation.tla.modules import read_folder
from fencepost.ci.bench.mutation.tla.tla_edits import edits_of
from fencepost.spec.tlc.models import MODULES, load_models

EDIT = Edit(
    module="M", operator="A", kind="comparison", start=7, before="x <\n 1", after="x <= 1", line=2
)
LISTED = ListedEdit(module="M", operator="A", kind="comparison", before="x < 1", reason="why not")


def test_an_edit_changes_its_place_and_shows_it() -> None:
    text = "line\nA\nx <\n 1\nB\n"

    assert EDIT.applied_to(text) == "line\nA\nx <= 1\nB\n"
    assert "+x <= 1" in EDIT.diff(text, "M.tla")


def test_an_edit_of_another_text_is_refused() -> None:
    with pytest.raises(ValueError, match="is not the text in which this was found"):
        EDIT.applied_to("something else, long enough")


def test_a_key_does_not_know_lines_and_layout() -> None:
    moved = replace(EDIT, start=90, line=9, before="x < 1")

    assert moved.key == EDIT.key


def test_edits_with_the_same_key_are_numbered() -> None:
    first, second = numbered([EDIT, replace(EDIT, start=20)])

    assert (first.number, second.number) == (1, 2)
    assert first.key != second.key


def test_a_sample_stays_when_other_edits_come() -> None:
    edits = [replace(EDIT, operator=f"A{n}", start=n) for n in range(200)]
    more = [replace(EDIT, operator="New", start=300), *edits]

    drawn, drawn_later = sample(edits, 20, 3), sample(more, 20, 3)

    assert len(drawn) == 20
    assert drawn == sample(edits, 20, 3) != sample(edits, 20, 4)
    assert len(set(drawn) & set(drawn_later)) >= 19
    assert drawn[:5] == sample(edits, 5, 3)


def test_a_sample_has_so_many_of_each_module() -> None:
    edits = [replace(EDIT, operator=f"A{n}", start=n) for n in range(200)]
    few = [replace(EDIT, module="Few", operator=f"A{n}", start=n) for n in range(3)]

    drawn = sample([*edits, *few], 10, 3, each=2)

    assert len(drawn) == 10
    assert sum(edit.module == "Few" for edit in drawn) >= 2
    assert set(drawn) >= set(sample(edits, 7, 3))


def test_a_reason_is_found_by_key_in_any_layout() -> None:
    reasons = Reasons(equivalents=(LISTED,))

    assert reasons.of_equivalent(EDIT) == "why not"
    assert reasons.of_survivor(EDIT) == ""
    assert reasons.of_equivalent(replace(EDIT, operator="B")) == ""


def test_a_file_of_reasons_that_is_wrong_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "specs.toml"
    path.write_text('[[equivalent]]\nmodule = "M"\n')

    with pytest.raises(SystemExit, match=r"specs\.toml: "):
        read_reasons(path)


@pytest.mark.long
def test_every_reason_speaks_of_an_edit() -> None:
    modules = read_folder(MODULES)
    roots = protocol_of(rows_of(modules, load_models()))
    edits = {
        "specs": edits_of(modules, roots),
        "core": _python_edits("impl/core"),
        "checks": _python_edits("conformance/checks"),
    }

    for name, known in edits.items():
        stale = read_reasons(FOLDER / f"{name}.toml").stale(known)
        assert [f"{name}.toml: {one.module} {one.operator}: {one.before}" for one in stale] == []


def _python_edits(package: str) -> list[Edit]:
    return [edit for name, text in modules_of(package, ()) for edit in python_edits(name, text)]
