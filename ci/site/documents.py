"""The documents of the project, and what in them leads elsewhere."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("spec", "impl", "conformance", "fault_injection", "reports", "ci", "tests", "docs")
MADE_BY_A_RUN = ROOT / "reports" / "runs"
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@cache
def documents() -> tuple[Path, ...]:
    """Every Markdown file of the project, in the order of their names."""
    below = (path for room in ROOMS for path in (ROOT / room).rglob("*.md"))
    return tuple(
        path
        for path in sorted([*ROOT.glob("*.md"), *below])
        if not path.is_relative_to(MADE_BY_A_RUN)
    )


def links(document: Path) -> Iterator[tuple[Path, str]]:
    """The file and the anchor of each link to a file of the project; "" is the file's beginning."""
    for name, anchor in LINK.findall(FENCE.sub("", document.read_text())):
        yield (document.parent / name).resolve() if name else document, anchor


def pictures() -> list[Path]:
    """What the documents show or link that is no document."""
    known = set(documents())
    return sorted({path for one in known for path, _ in links(one)} - known)
