"""A person opens the report: it is drawn, fits the window, and the browser has no complaint."""

from pathlib import Path

import pytest

from tests.reports.browser import Browser

pytestmark = [pytest.mark.browser, pytest.mark.long]

HEADLINES = {
    "passing_run": "Every check held, on every run, within every budget.",
    "failing_run": "Acknowledged record client-1/1/1 at offset 1 is lost: the final read finds "
    "client-1/2/1 there, in chaos/truncation_loss.",
}
WIDTHS = (1280, 800, 390)
LEAST_RATIO = 5
"""Of the picture's bytes to those of an empty page: one of text, badges and bars has 20 times."""

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
HIDDEN_PICTURES = """
[...document.querySelectorAll("svg")].filter(s => !s.closest("details") && s.checkVisibility()
  && (s.getBoundingClientRect().width < 40 || s.getBoundingClientRect().height < 10)).length
"""
SPILLING_WORDS = """
[...document.querySelectorAll("svg.picture")].flatMap(s => {
  const [page, words] = [s.getBoundingClientRect(), [...s.querySelectorAll("text")]];
  return words.map(t => [t.textContent, t.getBoundingClientRect()])
    .filter(([, box]) => box.width && (box.right > page.right + 1 || box.left < page.left - 1))
    .map(([text]) => text);
})
"""


@pytest.mark.parametrize("run", ["passing_run", "failing_run"])
def test_the_report_is_drawn_and_fits(
    run: str, browser: Browser, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    folder: Path = request.getfixturevalue(run)
    empty = tmp_path / "empty.html"
    empty.write_text("<!doctype html><title>empty</title>")
    for width in WIDTHS:
        browser.open(empty, width)
        blank = browser.screenshot()
        browser.open(folder / "report.html", width)

        assert browser.evaluate("document.getElementById('verdict').textContent") == HEADLINES[run]
        assert browser.evaluate(OVERFLOW) == 0, width
        assert browser.evaluate(HIDDEN_PICTURES) == 0
        assert browser.evaluate(SPILLING_WORDS) == []
        picture = browser.screenshot()
        (tmp_path / f"{run}-{width}.png").write_bytes(picture)
        assert len(picture) > LEAST_RATIO * len(blank)

    assert browser.complaints == []


def test_the_dark_page_is_dark(browser: Browser, failing_run: Path) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    browser.open(failing_run / "report.html", 1280, scheme="light")
    light = browser.evaluate(colour)
    browser.open(failing_run / "report.html", 1280, scheme="dark")
    dark = browser.evaluate(colour)

    assert light != dark
    assert sum(int(part) for part in dark.strip("rgb()").split(",")) < 100
    assert browser.complaints == []


def test_what_the_policy_forbids_would_be_seen(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    policy = "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\">"
    page.write_text(f"<!doctype html>{policy}<script>1</script><p>text")

    browser.open(page, 800)

    assert any("Content Security Policy" in complaint for complaint in browser.complaints)
