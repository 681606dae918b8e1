"""Every link between documents leads to a file, and to a heading that is there."""

import re
from pathlib import Path

import pytest

from fencepost.ci.site import documents as of_the_project
from fencepost.ci.site.anchors import anchor
from fencepost.ci.site.documents import FENCE, ROOT, documents, links

HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def headings(path: Path) -> set[str]:
    """The anchors of a document."""
    text = FENCE.sub("", path.read_text())
    return {
        anchor(re.sub(r"`|\[([^]]*)\]\([^)]*\)", r"\1", line)) for line in HEADING.findall(text)
    }


def lost(document: Path) -> list[str]:
    """The links of a document that lead nowhere."""
    return [
        f"{document.relative_to(ROOT)}: {target.name}#{name}"
        for target, name in links(document)
        if not target.exists() or (name and name not in headings(target))
    ]


def test_every_link_and_anchor_of_the_documents_is_there() -> None:
    assert [one for document in documents() for one in lost(document)] == []
    assert sum(1 for document in documents() for _, name in links(document) if name) > 50


def test_a_link_without_its_heading_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.ci.site.test_documents_linked.ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text("# A `b` c\n[x](#a-b-c) [y](#a-c) [z](nowhere.md)\n```\n[w](w.md)\n```\n")

    assert lost(page) == ["page.md: page.md#a-c", "page.md: nowhere.md#"]


def test_what_a_run_leaves_is_no_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_the_project, "ROOT", tmp_path)
    monkeypatch.setattr(of_the_project, "MADE_BY_A_RUN", tmp_path / "reports" / "runs")
    for name in ("README.md", "docs/a.md", "reports/runs/x/summary.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = documents.__wrapped__()

    assert [path.relative_to(tmp_path).as_posix() for path in found] == ["README.md", "docs/a.md"]
