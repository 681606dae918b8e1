"""The built site: whole, without a network, and searched as files in a real browser.

`make docs` installs what builds it; without that these tests say so and skip.
"""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from fencepost.ci.site.built_links import broken_links
from fencepost.ci.site.documents import ROOT
from tests.reports.browser import Browser

pytestmark = pytest.mark.skipif(
    find_spec("mkdocs") is None, reason="MkDocs is not installed here; make docs does it"
)
SEARCHED = "high watermark"
FOUND = "document.querySelectorAll('.md-search-result__item').length"
PAGES = ("index", "docs/index", "docs/commands", "labs/kip-101", "reference/requirement")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    config = str(ROOT / "ci" / "site" / "mkdocs.yaml")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", config, "-d", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[-2000:]
    return folder


def test_every_link_leads_somewhere(site: Path) -> None:
    assert list(broken_links(site)) == []
    assert len(list(site.rglob("*.html"))) > 60


@pytest.mark.browser
def test_pages_are_drawn_from_files_alone(site: Path, browser: Browser) -> None:
    for page in PAGES:
        for width in (1280, 400):
            browser.open(site / f"{page}.html", width)
            wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert browser.evaluate(wide) == 0, (page, width)
            assert browser.evaluate("document.querySelector('h1').checkVisibility()")

    assert browser.complaints == []


@pytest.mark.browser
def test_the_search_finds_a_page_without_a_server(site: Path, browser: Browser) -> None:
    browser.open(site / "index.html", 1280)
    browser.evaluate("document.querySelector('.md-search__input').focus()")
    browser.press(*SEARCHED)
    browser.await_that(f"{FOUND} > 0")

    assert SEARCHED.split()[1] in browser.evaluate(
        "document.querySelector('.md-search-result__item').textContent.toLowerCase()"
    )
    assert browser.complaints == []
