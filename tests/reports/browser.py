"""Headless Chromium of this machine, driven by Playwright."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import playwright.sync_api as playwright

EXECUTABLES = ("chromium", "chromium-browser", "google-chrome")
DEADLINE_S = 300.0
"""For one answer of a browser, on a busy machine: it only ends what hangs."""

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic")
BESIDE_THE_PAGE = ("file:", "data:", "about:")
"""Where a page may ask for something without a network."""


def find_browser() -> str | None:
    """The browser of this machine, or None."""
    return next((path for name in EXECUTABLES if (path := shutil.which(name))), None)


@contextmanager
def started(executable: str) -> Iterator[playwright.Browser]:
    """A browser process; all that belongs to it ends with it, its profile too."""
    from playwright.sync_api import sync_playwright  # half a second, which few tests need

    with sync_playwright() as driver:
        yield driver.chromium.launch(executable_path=executable, args=FLAGS)


class Browser:
    """One page with cookies and storage of its own; what it complains about is in `complaints`."""

    def __init__(self, process: playwright.Browser) -> None:
        self.complaints: list[str] = []
        self._context = process.new_context()
        self._page = self._context.new_page()
        self._page.set_default_timeout(DEADLINE_S * 1000)
        self._page.on("console", lambda message: self.complaints.append(message.text))
        self._page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self._page.on("request", self._note)

    def close(self) -> None:
        """The page is gone, with what it kept."""
        self._context.close()

    def open(self, page: Path, width: int, height: int = 900, scheme: str = "light") -> None:
        """The page is loaded and laid out in a window of this size and colour scheme."""
        self._page.set_viewport_size({"width": width, "height": height})
        self._page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        self._page.goto(page.resolve().as_uri())

    def evaluate(self, expression: str) -> Any:  # noqa: ANN401 - whatever the page answers
        """The value of a JavaScript expression about the page."""
        return self._page.evaluate(expression)

    def await_that(self, expression: str) -> None:
        """Returns when the expression holds; the deadline is that of an answer.

        Playwright's own way evaluates a text in the page, which the policy of our pages forbids.
        """
        deadline = time.monotonic() + DEADLINE_S
        while not self.evaluate(expression):
            assert time.monotonic() < deadline, f"never was: {expression}"
            self.evaluate("new Promise(done => requestAnimationFrame(done))")

    def forbid_scripts(self) -> None:
        """From the next page on, the page runs no script; `evaluate` still answers."""
        protocol = self._context.new_cdp_session(self._page)
        protocol.send("Emulation.setScriptExecutionDisabled", {"value": True})

    def press(self, *keys: str) -> None:
        """Press and release each key: a character, or a name as in `KeyboardEvent.key`."""
        for key in keys:
            self._page.keyboard.press(key)

    def point_at(self, selector: str) -> None:
        """Bring the first such element into view and move the pointer to its middle."""
        x, y = self.evaluate(
            f"(() => {{ const one = document.querySelector({json.dumps(selector)});"
            "one.scrollIntoView({block: 'center'}); const box = one.getBoundingClientRect();"
            "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        self._page.mouse.move(x, y)

    def sheets(self) -> int:
        """How many sheets of A4 the page is on paper."""
        return len(re.findall(rb"/Type\s*/Page\b", self._page.pdf(format="A4")))

    def allow_clipboard(self) -> None:
        """Let the page read what it copied."""
        self._context.grant_permissions(["clipboard-read", "clipboard-write"])

    def screenshot(self) -> bytes:
        """The window as a PNG."""
        return self._page.screenshot()

    def _note(self, request: playwright.Request) -> None:
        if not request.url.startswith(BESIDE_THE_PAGE):
            self.complaints.append(f"asked the network for {request.url}")
