"""The page of scores."""

import json
from pathlib import Path

from fencepost.ci.bench.mutation import page
from fencepost.ci.bench.mutation.edit import Edit
from fencepost.ci.bench.mutation.score import Scored, document
from fencepost.ci.bench.mutation.spec_scores import ERROR, FEWER, PROPERTY, SCALE


def scored(name: str, outcome: str, excuse: str = "") -> Scored:
    edit = Edit(
        module="Zk", operator=name, kind="comparison", start=0, before="a | b", after="c", line=1
    )
    return Scored(edit=edit, outcome=outcome, excuse=excuse)


def test_the_page_has_scores_and_survivors(tmp_path: Path) -> None:
    first = document(SCALE, [scored("A", FEWER), scored("B", PROPERTY)], "--seed 1")
    later = document(SCALE, [scored("A", PROPERTY), scored("C", FEWER, "why")], "--seed 2")
    other = document(SCALE, [scored("D", ERROR)], "--seed 3")
    names = []
    for number, told in enumerate((first, later, other)):
        names.append(str(tmp_path / f"{number}.json"))
        Path(names[-1]).write_text(json.dumps(told))
    written = tmp_path / "page.md"

    assert page.main([*names, str(written)]) == 0

    text = written.read_text()
    assert "Drawn by `--seed 1`, `--seed 2`, `--seed 3`, judged by lot." in text
    assert "4 were tried, 0 of them equivalent; 3 count." in text
    assert "Killed by a property: 2 of 3 (67%), wanted 95%." in text
    assert "| comparison | 2 | 3 |" in text
    assert f"| Zk, C, comparison | `a \\| b` to `c` | {FEWER} | why |" in text
    assert "Zk, A" not in text


def test_a_page_keeps_what_it_has_no_results_of() -> None:
    first = page.page([document(SCALE, [scored("A", FEWER)], "--seed 1")])
    before = first + "\n## Edits of the checks\n\n0 were tried.\n"

    after = page.page([document(SCALE, [scored("B", PROPERTY)], "--seed 2")], before)

    assert "Zk, A" not in after
    assert after.endswith("\n\n## Edits of the checks\n\n0 were tried.\n")
    assert page.page([], after) == after


def test_a_page_needs_results() -> None:
    assert page.main(["page.md"]) == 4
