"""A page as one HTML file that needs no network and no other file, and no script to be read."""

import base64
import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from fencepost.conformance.verdict import Verdict
from fencepost.reports.page.views import Page
from fencepost.reports.page.words import anchor, at, milliseconds, seconds, sign, tone

TEMPLATES = Path(__file__).resolve().parent / "templates"

SCRIPT = (TEMPLATES / "report.js").read_text(encoding="utf-8")
"""What makes the page a place to work: search, zoom, jumps, copies. Nothing of a trace is in it."""

_DIGEST = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; script-src 'sha256-{_DIGEST}'; style-src 'unsafe-inline'; img-src data:"
)
"""What the browser enforces: the page loads nothing, and runs this one script and no other."""

_DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SHOWN = {code: f"\\u{code:04x}" for code in _DIRECTIONS}
"""Marks of writing direction, which would turn the words after them around: they are shown."""


def page_html(page: Page) -> str:
    """The file of a run's report."""
    return html_of("report.html.j2", page)


def html_of(template: str, page: object) -> str:
    """The file; everything that came from a trace is escaped by the template engine."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "sign": sign,
        "tone": tone,
        "at": at,
        "seconds": seconds,
        "ms": milliseconds,
        "verdict": Verdict,
    }
    environment.globals["anchor"] = anchor
    # Style sheet and script are ours alone: nothing of a trace reaches them.
    style = Markup((TEMPLATES / "report.css").read_text(encoding="utf-8"))  # noqa: S704
    ours = {"policy": POLICY, "style": style, "script": Markup(SCRIPT)}  # noqa: S704
    return environment.get_template(template).render(page=page, **ours).translate(_SHOWN)
