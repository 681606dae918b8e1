"""Headless Chromium, driven over a pipe by its own DevTools protocol: no port, no driver."""

import base64
import fcntl
import json
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

EXECUTABLES = ("chromium", "chromium-browser", "google-chrome")
DEADLINE_S = 300.0
"""For one answer of a browser, on a busy machine: it only ends what hangs."""

END_DEADLINE_S = 10.0
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


def find_browser() -> str | None:
    """The browser of this machine, or None."""
    return next((path for name in EXECUTABLES if (path := shutil.which(name))), None)


class Chromium:
    """A browser process; each `Browser` is a page in it, with cookies and storage of its own."""

    def __init__(self, executable: str) -> None:
        self._profile = tempfile.mkdtemp(prefix="fencepost-browser-")
        self._process, self._to, self._from = _start(executable, self._profile)
        self._unread = b""
        self._last_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        """The browser and all that it started are gone, and its profile too."""
        os.close(self._to)
        os.close(self._from)
        try:
            self._process.wait(END_DEADLINE_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(END_DEADLINE_S)
        shutil.rmtree(self._profile, ignore_errors=True)

    def ask(
        self, method: str, parameters: Mapping[str, object], session: str | None = None
    ) -> list[dict[str, Any]]:
        """Send a command; the events until its answer, and that at last."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        received = [self.receive()]
        while received[-1].get("id") != self._last_id:
            received.append(self.receive())
        assert "error" not in received[-1], received[-1]
        return received

    def receive(self) -> dict[str, Any]:
        """The next event or answer."""
        deadline = time.monotonic() + DEADLINE_S
        while b"\0" not in self._unread:
            left_s = deadline - time.monotonic()
            readable, _, _ = select.select([self._from], [], [], max(0.0, left_s))
            assert readable, f"the browser did not answer within {DEADLINE_S} s"
            chunk = os.read(self._from, 1 << 20)
            assert chunk, "the browser ended before its time"
            self._unread += chunk
        message, _, self._unread = self._unread.partition(b"\0")
        document: dict[str, Any] = json.loads(message)
        return document


class Browser:
    """One page; whatever it complains about is in `complaints`."""

    def __init__(self, chromium: Chromium) -> None:
        self.complaints: list[str] = []
        self._chromium = chromium
        self._context = ""
        self._session: str | None = None
        self._loaded = False

    def __enter__(self) -> Self:
        self._context = self._of_all("Target.createBrowserContext")["browserContextId"]
        place = {"url": "about:blank", "browserContextId": self._context}
        target = self._of_all("Target.createTarget", **place)["targetId"]
        attached = self._of_all("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._ask(f"{domain}.enable")
        return self

    def __exit__(self, *_exception: object) -> None:
        self._of_all("Target.disposeBrowserContext", browserContextId=self._context)

    def open(self, page: Path, width: int, height: int = 900, scheme: str = "light") -> None:
        """The page is loaded and laid out in a window of this size and colour scheme."""
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self._ask("Emulation.setEmulatedMedia", features=[feature])
        self._loaded = False
        self._ask("Page.navigate", url=page.resolve().as_uri())
        while not self._loaded:
            self._note(self._chromium.receive())

    def evaluate(self, expression: str) -> Any:  # noqa: ANN401 - whatever the page answers
        """The value of a JavaScript expression about the page."""
        answer = self._ask(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
            userGesture=True,
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def await_that(self, expression: str) -> None:
        """Returns when the expression holds; the deadline is that of an answer."""
        deadline = time.monotonic() + DEADLINE_S
        while not self.evaluate(expression):
            assert time.monotonic() < deadline, f"never was: {expression}"
            self.evaluate("new Promise(done => requestAnimationFrame(done))")

    def forbid_scripts(self) -> None:
        """From the next page on, the page runs no script; `evaluate` still answers."""
        self._ask("Emulation.setScriptExecutionDisabled", value=True)

    def press(self, *keys: str) -> None:
        """Press and release each key: a character, or a name as in `KeyboardEvent.key`."""
        for key in keys:
            text = {"Enter": "\r", " ": " "}.get(key, key if len(key) == 1 else "")
            code = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38}.get(key, 0)
            told = {"key": key, "windowsVirtualKeyCode": code, "code": key}
            self._ask("Input.dispatchKeyEvent", type="keyDown", text=text, **told)
            self._ask("Input.dispatchKeyEvent", type="keyUp", **told)

    def point_at(self, selector: str) -> None:
        """Bring the first such element into view and move the pointer to its middle."""
        x, y = self.evaluate(
            f"(() => {{ const one = document.querySelector({json.dumps(selector)});"
            "one.scrollIntoView({block: 'center'}); const box = one.getBoundingClientRect();"
            "return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        self._ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def sheets(self) -> int:
        """How many sheets of A4 the page is on paper."""
        answer = self._ask("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)
        return len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(answer["data"])))

    def allow_clipboard(self) -> None:
        """Let the page read what it copied."""
        names = ["clipboardReadWrite", "clipboardSanitizedWrite"]
        self._of_all("Browser.grantPermissions", permissions=names, browserContextId=self._context)

    def screenshot(self, scale: float = 1.0, *, is_whole: bool = False) -> bytes:
        """The window, or the whole page, as a PNG."""
        size = "[innerWidth, innerHeight]"
        if is_whole:
            size = "[innerWidth, document.documentElement.scrollHeight]"
        width, height = self.evaluate(size)
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": scale}
        answer = self._ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=is_whole)
        return base64.b64decode(answer["data"])

    def _ask(self, method: str, **parameters: object) -> Any:  # noqa: ANN401 - a JSON document
        """The answer of the page."""
        return self._result(self._chromium.ask(method, parameters, self._session))

    def _of_all(self, method: str, **parameters: object) -> Any:  # noqa: ANN401 - a JSON document
        """The answer of the browser."""
        return self._result(self._chromium.ask(method, parameters))

    def _result(self, received: list[dict[str, Any]]) -> Any:  # noqa: ANN401 - a JSON document
        for event in received[:-1]:
            self._note(event)
        return received[-1]["result"]

    def _note(self, event: dict[str, Any]) -> None:
        if event.get("sessionId") != self._session:
            return  # of a page that was closed
        match event.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Log.entryAdded":
                self.complaints.append(event["params"]["entry"]["text"])
            case "Runtime.exceptionThrown" | "Runtime.consoleAPICalled":
                self.complaints.append(json.dumps(event["params"]))
            case "Network.requestWillBeSent":
                url = event["params"]["request"]["url"]
                if not url.startswith(("file:", "data:", "about:")):
                    self.complaints.append(f"asked the network for {url}")
            case _:
                pass


_SHIM = """
import os, sys
for place, source in ((3, int(sys.argv[1])), (4, int(sys.argv[2]))):
    os.dup2(source, place)
os.execv(sys.argv[3], sys.argv[3:])
"""


def _start(executable: str, profile: str) -> tuple[subprocess.Popen[bytes], int, int]:
    """The browser reads commands from its descriptor 3 and answers on its descriptor 4."""
    commands, to_browser = _high(os.pipe())
    from_browser, answers = _high(os.pipe())
    shim = [sys.executable, "-c", _SHIM, str(commands), str(answers)]
    process = subprocess.Popen(
        [*shim, executable, *FLAGS, f"--user-data-dir={profile}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(commands, answers),
        start_new_session=True,
    )
    os.close(commands)
    os.close(answers)
    return process, to_browser, from_browser


def _high(ends: tuple[int, int]) -> tuple[int, int]:
    """The ends of a pipe on descriptors that are neither 3 nor 4."""
    first, second = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return first, second


def colours_of(png: bytes) -> int:
    """How many different pixels a PNG of eight bits per channel has; a blank one has one."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    chunks = dict[bytes, bytes]()
    place = 8
    while place < len(png):
        (length,) = struct.unpack_from(">I", png, place)
        name = png[place + 4 : place + 8]
        chunks[name] = chunks.get(name, b"") + png[place + 8 : place + 8 + length]
        place += length + 12
    width, height, depth, kind = struct.unpack_from(">IIBB", chunks[b"IHDR"])
    assert depth == 8
    step = {2: 3, 6: 4}[kind]
    rows = _unfiltered(zlib.decompress(chunks[b"IDAT"]), width * step, height, step)
    return len({bytes(row[x : x + step]) for row in rows for x in range(0, width * step, step)})


def _unfiltered(packed: bytes, stride: int, height: int, step: int) -> list[bytearray]:
    """The rows of a PNG, with the prediction of each byte from its neighbours undone."""
    rows: list[bytearray] = []
    above = bytearray(stride)
    for number in range(height):
        start = number * (stride + 1)
        row = bytearray(packed[start + 1 : start + 1 + stride])
        for x in range(stride):
            left = row[x - step] if x >= step else 0
            corner = above[x - step] if x >= step else 0
            row[x] = (row[x] + _predicted(packed[start], left, above[x], corner)) & 255
        rows.append(row)
        above = row
    return rows


def _predicted(filter_type: int, left: int, up: int, corner: int) -> int:
    if filter_type < 4:
        return (0, left, up, (left + up) // 2)[filter_type]
    estimate = left + up - corner
    return min((left, up, corner), key=lambda value: abs(estimate - value))
