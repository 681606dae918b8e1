"""The report as a place to work: searched, zoomed, copied and jumped in, and by keys alone."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.reports.browser import Browser

pytestmark = [pytest.mark.browser, pytest.mark.long]

SERIOUS = {"serious", "critical"}
LEAST_CONTRAST = 4.5
PAGES_MAX = 15
OTHER_PAGES = ("diff_page", "trend_page")
"""Of two runs, and of many: the same style and script."""

CONTRASTS = """
(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = colour => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]));
  const behind = element => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      layers.push(rgba(getComputedStyle(at).backgroundColor));
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const light = colour => colour
    .map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
  const faint = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.getClientRects().length) continue;
    if (element.closest("button:disabled, title, script, style")) continue;
    const style = getComputedStyle(element);
    const below = behind(element);
    const is_drawn = element.closest("svg") !== null;
    const above = over(rgba(is_drawn ? style.fill : style.color), below);
    const [high, low] = [light(above), light(below)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < LEAST) faint.add(`${ratio.toFixed(2)} ${element.getAttribute("class")} `
      + walker.currentNode.data.trim().slice(0, 30));
  }
  return [...faint].slice(0, 20);
})()
""".replace("LEAST", str(LEAST_CONTRAST))

VISIBLE_ROWS = """
[...document.querySelectorAll("#checks tbody tr")].filter(row => row.checkVisibility())
  .map(row => row.querySelector("th").firstChild.data)
"""
HEIGHT = "document.querySelector('svg.wide').viewBox.baseVal.height"
SHOWN = "document.querySelectorAll('svg.wide g.words[data-ns]:not(.more)').length"
HELD = "document.querySelectorAll('ol.steps li[id]').length"
AT = "document.activeElement"
CUT_WORDS = """
(() => {
  const cut = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    if (element.closest(".skip, .proofs, thead, .said")) continue;
    range.selectNodeContents(walker.currentNode);
    const box = range.getBoundingClientRect();
    if (box.width && (box.right > innerWidth + 1 || box.left < -1)) {
      cut.push(walker.currentNode.data.trim().slice(0, 40));
    }
  }
  return cut;
})()
"""

COVERED_WORDS = """
[...document.querySelectorAll(".copy")].filter(one => one.checkVisibility()).flatMap(one => {
  const above = one.getBoundingClientRect();
  return [...one.parentElement.querySelectorAll("span")].filter(word => {
    const below = word.getBoundingClientRect();
    return below.right > above.left && below.bottom > above.top && below.top < above.bottom;
  }).map(word => word.textContent);
})
"""
"""Of commands, what lies below the button that copies them."""
WORDS_IN_PIECES = """
[...document.querySelectorAll("pre.command span")].filter(word => word.checkVisibility()
  && word.textContent.length < 24 && word.getBoundingClientRect().height > 24)
  .map(word => word.textContent)
"""
"""Of commands, words that are broken over two lines."""


NARROW_CELLS = """
[...document.querySelectorAll("table:not(.proofs) tr > :is(th, td)")].filter(one =>
  one.checkVisibility() && getComputedStyle(one.parentElement).display === "block"
  && one.clientWidth < 0.9 * one.parentElement.clientWidth
  && one.closest("thead") === null).map(one => one.textContent.slice(0, 40))
"""
"""On a phone, what stands in a strip beside nothing."""
TALL = "document.documentElement.scrollHeight"


def button(words: str) -> str:
    return f"[...document.querySelectorAll('button')].find(b => b.textContent === '{words}')"


def test_without_scripts_all_is_told(browser: Browser, failing_run: Path) -> None:
    browser.forbid_scripts()
    browser.open(failing_run / "report.html", 1280)

    assert browser.evaluate("document.querySelectorAll('.tools, .copy').length") == 0
    assert browser.evaluate("document.querySelectorAll('tbody tr[hidden]').length") == 0
    told = browser.evaluate("document.querySelector('main').innerText")
    assert "The first violation: LeaderComplete" in told
    assert browser.evaluate("document.querySelector('svg.wide').checkVisibility()")
    browser.evaluate("document.querySelector('details.steps > summary').click()")
    assert browser.evaluate("document.querySelector('ol.steps').checkVisibility()")


def test_rows_are_found_and_filtered(browser: Browser, failing_run: Path) -> None:
    browser.open(failing_run / "report.html", 1280)
    before = browser.evaluate(VISIBLE_ROWS)

    browser.press("/")
    browser.press(*"znode")
    browser.await_that(f"({VISIBLE_ROWS}).join() === 'LinearizableZnode'")
    assert browser.evaluate("document.querySelector('#proofs').hidden")

    browser.press("Escape")
    browser.await_that(f"({VISIBLE_ROWS}).length === {len(before)}")
    browser.evaluate("document.getElementById('only-bad').click()")
    assert set(browser.evaluate(VISIBLE_ROWS)) < set(before)
    assert "LeaderComplete" in browser.evaluate(VISIBLE_ROWS)
    assert (
        browser.evaluate(
            "[...document.querySelectorAll('#checks tbody tr:not([hidden]) .good')].length"
        )
        == 0
    )
    assert browser.complaints == []


def test_the_picture_opens_zooms_and_keeps_time(browser: Browser, failing_run: Path) -> None:
    browser.open(failing_run / "report.html", 1280)
    shown, height = browser.evaluate(SHOWN), browser.evaluate(HEIGHT)

    browser.evaluate("document.querySelector('svg.wide .opens').dispatchEvent(new Event('click'))")
    assert shown < browser.evaluate(SHOWN) <= browser.evaluate(HELD)
    gap = browser.evaluate("document.querySelector('svg.wide .opens').textContent")
    assert gap.startswith("⋮ fold ")
    browser.evaluate(f"{button('All events')}.click()")
    assert browser.evaluate(SHOWN) == browser.evaluate(HELD)
    assert browser.evaluate(HEIGHT) > height
    browser.evaluate(f"{button('All events')}.click()")
    assert (browser.evaluate(SHOWN), browser.evaluate(HEIGHT)) == (shown, height)

    browser.evaluate(f"{button('Real time')}.click()")
    steps = browser.evaluate(
        "[...document.querySelectorAll('svg.wide g.mark:not(.more)')].map(g => ["
        "Number(document.querySelector(`svg.wide g.words[data-ns][data-step='${g.dataset.step}']`)"
        ".dataset.ns), g.transform.baseVal[0].matrix.f])"
    )
    (first_ns, top), (last_ns, bottom) = min(steps), max(steps)
    assert bottom > top
    for at_ns, y in steps:
        expected = top + (at_ns - first_ns) / (last_ns - first_ns) * (bottom - top)
        assert abs(y - expected) < 0.2
    before = browser.evaluate(HEIGHT)
    browser.evaluate(f"{button('+')}.click()")
    assert browser.evaluate(HEIGHT) > 1.5 * before
    assert browser.complaints == []


def test_the_pointer_tells_what_it_is_at(browser: Browser, failing_run: Path) -> None:
    browser.open(failing_run / "report.html", 1280)
    step = browser.evaluate("document.querySelector('svg.wide g.arrow:not(.more)').dataset.to")

    browser.point_at(f"svg.wide g.words[data-step='{step}'] .step")

    browser.await_that("document.querySelectorAll('svg.wide .arrow.lit').length > 0")
    told = browser.evaluate("document.querySelector('.told-here').textContent")
    assert "ms after the one before" in told


def test_jumps_go_from_one_place_to_the_next(browser: Browser, failing_run: Path) -> None:
    browser.open(failing_run / "report.html", 1280)

    browser.evaluate(f"{button('First violation')}.click()")
    assert "BecomeLeader" in browser.evaluate(f"{AT}.textContent")
    assert browser.evaluate(f"{AT}.querySelector('.witness') !== null")
    places = []
    for _ in range(3):
        browser.evaluate(f"{button('Next fault')}.click()")
        places.append(browser.evaluate(f"{AT}.textContent"))
    assert all("proc.kill" in place for place in places)
    browser.evaluate(f"{button('Next leader change')}.click()")
    assert "ead" in browser.evaluate(f"{AT}.textContent")
    box = browser.evaluate(f"(b => [b.top, b.bottom])({AT}.getBoundingClientRect())")
    assert 0 <= box[0] < box[1] <= 900


def test_a_command_is_copied_whole(browser: Browser, failing_run: Path) -> None:
    browser.open(failing_run / "report.html", 1280)
    browser.allow_clipboard()
    shown = "document.querySelector('pre.command').textContent"
    command = browser.evaluate(shown).removesuffix("Copy")

    browser.evaluate("document.querySelector('pre.command .copy').click()")

    browser.await_that("document.querySelector('pre.command .copy').textContent === 'Copied'")
    assert browser.evaluate("navigator.clipboard.readText()") == command


def test_the_dark_is_chosen_and_kept(browser: Browser, failing_run: Path) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    browser.open(failing_run / "report.html", 1280)
    light = browser.evaluate(colour)

    browser.evaluate(f"{button('Dark')}.click()")
    dark = browser.evaluate(colour)
    browser.open(failing_run / "report.html", 1280)

    assert dark != light
    assert browser.evaluate(colour) == dark
    assert browser.evaluate(f"{button('Dark')}.getAttribute('aria-pressed')") == "true"


def test_keys_alone_do_it_all(browser: Browser, failing_run: Path) -> None:
    browser.open(failing_run / "report.html", 1280)

    browser.press("Tab")
    assert browser.evaluate(f"{AT}.textContent") == "Skip to the content"
    reached = set()
    for _ in range(60):
        browser.press("Tab")
        reached.add(browser.evaluate(f"{AT}.textContent.trim() || {AT}.id"))
        if browser.evaluate(f"{AT}.matches('.spacetime-view')"):
            break
    assert {"search", "only-bad", "Next fault", "First violation", "Dark", "Copy"} <= reached
    assert browser.evaluate(f"{AT}.matches('.spacetime-view')")
    browser.press("ArrowDown", "ArrowDown")
    assert browser.evaluate("document.querySelectorAll('svg.wide g.words.lit').length") == 1
    browser.press("t")
    assert browser.evaluate(f"{button('Real time')}.getAttribute('aria-pressed')") == "true"
    browser.press("t", "Tab")
    shown = browser.evaluate(SHOWN)
    browser.press("Enter")
    assert browser.evaluate(SHOWN) > shown
    assert browser.complaints == []


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("run", ["failing_run", "suite_run", *OTHER_PAGES])
def test_all_words_stand_out_from_what_is_behind_them(
    run: str, scheme: str, browser: Browser, request: pytest.FixtureRequest
) -> None:
    folder: Path = request.getfixturevalue(run)
    browser.open(folder / "report.html", 1280, scheme=scheme)
    browser.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")

    assert browser.evaluate(CONTRASTS) == []


@pytest.mark.long
@pytest.mark.parametrize("run", ["passing_run", "failing_run", "suite_run", *OTHER_PAGES])
def test_axe_finds_nothing_serious(
    run: str, browser: Browser, request: pytest.FixtureRequest
) -> None:
    found = find_spec("axe_core_python")
    if found is None or found.origin is None:
        pytest.skip("axe-core-python is not installed: make setup")
    source = (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8")
    folder: Path = request.getfixturevalue(run)
    browser.open(folder / "report.html", 1280)

    browser.evaluate(source + "\n; 0")
    violations = browser.evaluate(
        "axe.run({ resultTypes: ['violations'] }).then(result => result.violations.map(one =>"
        " [one.impact, one.id, one.nodes.length, one.nodes[0].html.slice(0, 160)]))"
    )

    assert [told for told in violations if told[0] in SERIOUS] == []


@pytest.mark.long
@pytest.mark.parametrize("run", ["passing_run", "failing_run", "suite_run", *OTHER_PAGES])
def test_on_a_phone_no_word_is_cut_off(
    run: str, browser: Browser, request: pytest.FixtureRequest
) -> None:
    folder: Path = request.getfixturevalue(run)
    browser.open(folder / "report.html", 400)

    assert browser.evaluate(CUT_WORDS) == []
    assert browser.evaluate("document.documentElement.scrollWidth") == 400
    assert browser.evaluate(WORDS_IN_PIECES) == []
    assert browser.evaluate(COVERED_WORDS) == []
    browser.evaluate("document.querySelectorAll('.all-words input').forEach(one => one.click())")
    assert browser.evaluate(CUT_WORDS) == []
    assert browser.evaluate(NARROW_CELLS) == []


@pytest.mark.parametrize("has_scripts", [True, False])
def test_on_a_phone_what_went_well_is_a_line_until_it_is_asked_for(
    has_scripts: bool, browser: Browser, whole_gate: Path
) -> None:
    if not has_scripts:
        browser.forbid_scripts()
    browser.open(whole_gate / "report.html", 400)
    height = browser.evaluate(TALL)
    boxes = browser.evaluate("document.querySelectorAll('.all-words input').length")
    promise = "document.querySelector('#mutant-no_step_down td:nth-child(2)').checkVisibility()"

    assert boxes == browser.evaluate("document.querySelectorAll('table.many').length") > 5
    assert not browser.evaluate(promise)
    browser.evaluate("location.hash = '#mutant-no_step_down'")
    browser.await_that(promise)
    browser.evaluate("document.querySelectorAll('.all-words input').forEach(one => one.click())")
    assert browser.evaluate(promise)
    assert browser.evaluate(TALL) > 2 * height


def test_on_a_phone_what_is_found_has_all_its_words(browser: Browser, whole_gate: Path) -> None:
    browser.open(whole_gate / "report.html", 400)
    browser.press("/", *"no_step_down_1")
    browser.await_that("document.querySelector('.said').textContent.includes(' of ')")

    found = "#mutants tbody tr:not([hidden]) td"
    assert browser.evaluate(f"document.querySelectorAll('{found}').length") > 5
    assert browser.evaluate(
        f"[...document.querySelectorAll('{found}')].every(one => one.checkVisibility())"
    )


def test_on_a_wide_screen_all_words_are_there(browser: Browser, whole_gate: Path) -> None:
    browser.open(whole_gate / "report.html", 1280)

    hidden = "[...document.querySelectorAll('table.many td')].filter(one => !one.checkVisibility())"
    assert browser.evaluate(f"{hidden}.filter(one => !one.closest('details')).length") == 0
    assert not browser.evaluate("document.querySelector('.all-words').checkVisibility()")


def test_on_paper_it_is_short(browser: Browser, whole_gate: Path) -> None:
    browser.open(whole_gate / "report.html", 1280)

    assert browser.evaluate("document.querySelectorAll('main tbody tr').length") > 600
    assert browser.sheets() < PAGES_MAX


def test_a_hostile_topic_is_text_and_the_script_runs(browser: Browser, hostile_run: Path) -> None:
    browser.open(hostile_run / "report.html", 1280)

    assert browser.evaluate(f"{button('First violation')} !== undefined")
    assert browser.evaluate("document.querySelectorAll('main b, script ~ *').length") == 0
    told = browser.evaluate("document.querySelector('main').textContent")
    assert "</script>" in told
    assert "\\u202e" in told
    assert "\u202e" not in told
    browser.evaluate(f"{button('All events')}.click()")
    assert browser.complaints == []


@pytest.mark.long
def test_a_long_run_is_a_page_that_works(browser: Browser, long_run: Path) -> None:
    report = long_run / "report.html"
    browser.open(report, 1280)
    events = int(
        browser.evaluate(
            "[...document.querySelectorAll('.figures li')]"
            ".find(li => li.textContent.includes('trace events')).firstChild.textContent"
        ).replace(",", "")
    )

    assert events >= 100_000
    assert report.stat().st_size <= 5 * 1024 * 1024
    browser.evaluate(f"{button('All events')}.click()")
    assert browser.evaluate(SHOWN) == browser.evaluate(HELD) > 100
    browser.press("/")
    browser.press(*"leadercomplete")
    browser.await_that(f"({VISIBLE_ROWS}).join() === 'LeaderComplete'")
    assert " of " in browser.evaluate("document.querySelector('.said').textContent")
    assert browser.complaints == []


@pytest.fixture(params=OTHER_PAGES)
def other_page(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.getfixturevalue(request.param)
    return folder / "report.html"


def word_of_one_row(browser: Browser) -> str:
    """Of the comparison the case that was mended, of the trend the run that violates something."""
    told = browser.evaluate("document.querySelector('main').innerText")
    return "fixed" if "still broken" in told else "longer_than"


def test_other_pages_tell_all_without_scripts(browser: Browser, other_page: Path) -> None:
    browser.forbid_scripts()
    browser.open(other_page, 1280)

    assert browser.evaluate("document.querySelectorAll('.tools, .copy').length") == 0
    assert browser.evaluate("document.querySelectorAll('main tbody tr').length") > 3
    assert browser.evaluate("document.querySelectorAll('tbody tr[hidden]').length") == 0
    assert browser.evaluate("document.documentElement.scrollWidth") == 1280
    assert browser.complaints == []


def test_other_pages_are_worked_in_by_keys(browser: Browser, other_page: Path) -> None:
    rows = "[...document.querySelectorAll('main tbody tr')].filter(r => r.checkVisibility()).length"
    browser.open(other_page, 1280)
    before = browser.evaluate(rows)

    browser.press("Tab")
    assert browser.evaluate(f"{AT}.textContent") == "Skip to the content"
    browser.press("/", *word_of_one_row(browser))
    browser.await_that(f"{rows} < {before}")
    assert browser.evaluate(rows) > 0
    browser.press("Escape")
    browser.await_that(f"{rows} === {before}")
    reached = set()
    for _ in range(20):
        browser.press("Tab")
        reached.add(browser.evaluate(f"{AT}.textContent.trim() || {AT}.id"))
    assert {"only-bad", "Dark"} <= reached
    assert browser.complaints == []


def test_other_pages_are_dark_and_short_on_paper(browser: Browser, other_page: Path) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    browser.open(other_page, 1280)
    light = browser.evaluate(colour)
    assert browser.sheets() < PAGES_MAX

    browser.evaluate(f"{button('Dark')}.click()")
    assert browser.evaluate(colour) != light
    browser.open(other_page, 1280, scheme="dark")
    assert browser.evaluate(colour) != light
    assert browser.complaints == []
