"""The pages that are made of the project say what it says."""

import re

import yaml

from fencepost.ci.cli import COMMANDS
from fencepost.ci.screens.explanations import all_names
from fencepost.ci.site.documents import ROOT, documents
from fencepost.ci.site.made_pages import commands_page, lab_page, made_pages
from fencepost.ci.site.name_pages import name_pages, prose

NAV_ENTRY = re.compile(r"^ +- ([\w/.-]+\.md)$", re.MULTILINE)


def test_a_lab_is_told_with_its_words_and_states() -> None:
    page = lab_page("kip-101")

    assert page.startswith("# kip-101\n\nA follower truncates to its high watermark")
    assert "### 3. Broker 3 dies\n" in page
    assert "3       17->none  follower->dead  0->none  1->none    1->none  * | a@0" in page
    assert "**Look:** Broker 2 follows the same leader as before" in page
    assert "fencepost chaos --story truncation_loss --level 1" in page


def test_every_command_has_its_options() -> None:
    page = commands_page()
    shown = {line.split()[2] for line in page.splitlines() if line.startswith("## fencepost ")}

    assert shown == set(COMMANDS)
    assert page.count("Usage: fencepost ") == page.count("\n## ")


def test_every_name_has_an_entry_and_its_links_lead_to_entries() -> None:
    pages = dict(name_pages())
    entries = {
        kind: set(re.findall(r"^## `[^`]+` \{ #(\S+) \}$", text, re.MULTILINE))
        for kind, text in pages.items()
    }
    links = [link for text in pages.values() for link in re.findall(r"\((\w+)\.md#([^)]+)\)", text)]

    assert set().union(*entries.values()) == set(all_names())
    assert len(links) > 500
    assert [link for link in links if link[1] not in entries[link[0]]] == []


def test_marks_in_a_sentence_are_characters() -> None:
    assert prose("a_b < `c_d`\n[e]|*") == r"a\_b \< `c_d` \[e\]\|\*"
    assert prose("an odd ` one_") == r"an odd ' one\_"


def test_every_page_is_in_the_navigation_once() -> None:
    """MkDocs says so too; here it is said without it."""
    text = (ROOT / "ci" / "site" / "mkdocs.yaml").read_text()
    named = NAV_ENTRY.findall(text)
    made = [name for name, _ in made_pages()]
    written = [path.relative_to(ROOT).as_posix() for path in documents()]

    assert sorted(named) == sorted([*made, *written])


def test_nothing_is_asked_of_the_network() -> None:
    text = (ROOT / "ci" / "site" / "mkdocs.yaml").read_text()
    theme = yaml.safe_load(re.sub(r"!!python/\S+", "name", text))["theme"]

    assert theme["font"] is False
    assert "//" not in text
