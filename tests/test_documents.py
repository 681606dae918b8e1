"""The documents speak of what is there, and show every command."""

import re
from pathlib import Path

import pytest

from fencepost.ci.cli import COMMANDS, command_of

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("spec", "impl", "conformance", "fault_injection", "reports", "ci", "tests")
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *(path for room in (*ROOMS, "docs") for path in (ROOT / room).rglob("*.md")),
    ]
)
PATH = re.compile(rf"`((?:{'|'.join(ROOMS)}|\.ci)/[\w./-]*)`")
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)\)")
MADE_BY_A_RUN = "reports/runs"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_path_in_a_document_exists(document: Path) -> None:
    text = document.read_text()
    named = [ROOT / path for path in PATH.findall(text) if not path.startswith(MADE_BY_A_RUN)]
    linked = [document.parent / link for link in LINK.findall(text)]

    assert [str(path) for path in named + linked if not path.exists()] == []


@pytest.mark.parametrize("room", ROOMS[:-1])
def test_every_module_in_the_readme_of_a_room_exists(room: str) -> None:
    names = re.findall(r"`(?:[\w./]*/)?(\w+\.py)`", (ROOT / room / "README.md").read_text())
    there = {path.name for place in ROOMS for path in (ROOT / place).rglob("*.py")}

    assert sorted(set(names) - there) == []


@pytest.mark.parametrize("name", ["README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG"])
def test_root_document_is_there(name: str) -> None:
    assert len((ROOT / f"{name}.md").read_text().splitlines()) > 10


@pytest.mark.parametrize("room", ["spec", "conformance", "fault_injection", "reports", "ci"])
def test_room_has_a_readme(room: str) -> None:
    assert (ROOT / room / "README.md").is_file()


def commands() -> set[str]:
    """Every command of `fencepost`, with its group: `gate`, `cluster up`."""
    found = set()
    for name in COMMANDS:
        below = vars(command_of(name)).get("commands")
        found |= {f"{name} {inner}" for inner in below} if below else {name}
    return found


def test_every_command_that_starts_or_judges_something_is_shown() -> None:
    pages = (ROOT / "README.md").read_text() + (ROOT / "docs" / "commands.md").read_text()
    missing = {name for name in commands() if f"fencepost {name}" not in pages}

    assert missing == {"cluster status", "topics list", "topics describe", "reassign cancel"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_in_a_document_exists(document: Path) -> None:
    shown = re.findall(
        r"^(?:\$ )?fencepost ((?:cluster |topics |mutants |faults |partitions |reassign )?[\w-]+)",
        document.read_text(),
        re.MULTILINE,
    )

    assert set(shown) <= commands()


def test_the_readme_is_short_and_shows_a_result_first() -> None:
    text = (ROOT / "README.md").read_text()

    assert len(text.splitlines()) <= 150
    assert text.index("## A result") < text.index("## Run it")


def test_the_readme_of_ci_names_what_the_script_runs_in_its_order() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    readme = (ROOT / "ci" / "README.md").read_text().partition("## Continuous integration")[2]
    sections = re.findall(r"^section (?:make )?(\w+)$", script, re.MULTILINE)
    named = re.findall(r"`make (\w+)`", readme.partition("in this order")[0])

    # The section `tests` is `make test`, whose closing lines are kept.
    assert sections == ["setup", "check", "tests", "chaos", "gate", "models"]
    assert named == ["check", "test", "chaos", "gate", "models"]
    assert "chromium" in script
    assert "it installs Debian's" in readme
