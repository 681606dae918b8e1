"""The page of scores."""

import json
import tomllib
from pathlib import Path
from typing import Any

from fencepost.ci.bench.mutation import page
from fencepost.ci.bench.mutation.edit import Edit
from fencepost.ci.bench.mutation.score import Scored, document
from fencepost.ci.bench.mutation.spec_scores import ERROR, FEWER, PROPERTY, SCALE


def scored(name: str, outcome: str, excuse: str = "", harmless: str = "") -> Scored:
    edit = Edit(
        module="Zk", operator=name, kind="comparison", start=0, before="a | b", after="c", line=1
    )
    return Scored(edit=edit, outcome=outcome, excuse=excuse, harmless=harmless)


def test_the_page_has_scores_and_survivors(tmp_path: Path) -> None:
    first = document(SCALE, [scored("A", FEWER), scored("B", PROPERTY)], "--seed 1")
    later = document(SCALE, [scored("A", PROPERTY), scored("C", FEWER, "why")], "--seed 2")
    other = document(SCALE, [scored("D", ERROR)], "--seed 3")
    names = results_in(tmp_path, first, later, other)
    written = tmp_path / "page.md"

    assert page.main([*names, str(written)]) == 0

    text = written.read_text()
    assert "Drawn by `--seed 1`, `--seed 2`, `--seed 3`, judged by lot." in text
    assert "4 were tried, 0 of them equivalent, 0 harmless and not noticed; 3 count." in text
    assert "Killed by a property: 1 of 3 (33%), wanted 95%." in text
    assert "With survivors mended and judged again: 1 of 1, and 0 were in code" in text
    assert "| comparison | 1 | 3 |" in text
    assert f"| Zk, C, comparison | `a \\| b` to `c` | {FEWER} | why |" in text
    assert f"| Zk, A, comparison | `a \\| b` to `c` | {FEWER}; later: {PROPERTY} | - |" in text


def results_in(folder: Path, *documents: dict[str, Any]) -> list[str]:
    """Their files."""
    paths = [folder / f"{number}.json" for number in range(len(documents))]
    for path, told in zip(paths, documents, strict=True):
        path.write_text(json.dumps(told))
    return list(map(str, paths))


def test_a_page_keeps_what_it_has_no_results_of(tmp_path: Path) -> None:
    written, beside = tmp_path / "page.md", tmp_path / "page.toml"
    (first,) = results_in(tmp_path, document(SCALE, [scored("A", FEWER)], "--seed 1"))
    page.main([first, str(written)])
    written.write_text(written.read_text() + "\n## Edits of the checks\n\n0 were tried.\n")
    kept = '\n[[score]]\ntitle = "edits of the checks"\nkilled = 7\n'
    beside.write_text(beside.read_text() + kept)

    (second,) = results_in(tmp_path, document(SCALE, [scored("B", PROPERTY)], "--seed 2"))
    page.main([second, str(written)])

    after = written.read_text()
    assert "Zk, A" not in after
    assert after.endswith("\n\n## Edits of the checks\n\n0 were tried.\n")
    assert beside.read_text().endswith(kept)
    assert tomllib.loads(beside.read_text())["score"][0] == {
        "title": "edits of the specs",
        "goal": "killed by a property",
        "killed": 1,
        "of": 1,
        "wanted": 0.95,
        "drawn": "--seed 2",
    }


def test_a_harmless_edit_counts_only_where_something_notices_it(tmp_path: Path) -> None:
    edits = [
        scored("A", PROPERTY),
        scored("B", PROPERTY, harmless="so it was thought"),
        scored("C", FEWER, harmless="later, and within the bound"),
    ]
    written = tmp_path / "page.md"
    page.main([*results_in(tmp_path, document(SCALE, edits, "--seed 1")), str(written)])

    text = written.read_text()
    assert "3 were tried, 0 of them equivalent, 1 harmless and not noticed; 2 count." in text
    assert "2 of 2 (100%), wanted 95%; 67% with the harmless ones counted." in text
    assert f"| {FEWER} | Harmless: later, and within the bound |" in text


def test_what_was_mended_since_is_told_beside_the_score_as_drawn(tmp_path: Path) -> None:
    drawn = [scored("A", PROPERTY), scored("B", FEWER), scored("C", FEWER), scored("D", FEWER)]
    again = [scored("A", PROPERTY), scored("B", PROPERTY), scored("C", FEWER)]
    told = [document(SCALE, edits, "--seed 1") for edits in (drawn, again)]
    written, beside = tmp_path / "page.md", tmp_path / "page.toml"
    page.main([*results_in(tmp_path, *told), str(written)])

    text = written.read_text()
    assert "Killed by a property: 1 of 4 (25%), wanted 95%." in text
    assert "again: 2 of 3, and 1 were in code that is gone." in text
    assert f"| Zk, B, comparison | `a \\| b` to `c` | {FEWER}; later: {PROPERTY} | - |" in text
    assert f"| Zk, C, comparison | `a \\| b` to `c` | {FEWER} | - |" in text
    assert (
        f"| Zk, D, comparison | `a \\| b` to `c` | {FEWER}; later: its code is gone | - |" in text
    )
    assert tomllib.loads(beside.read_text())["score"][0]["killed"] == 1


def test_a_page_needs_results() -> None:
    assert page.main(["page.md"]) == 4
