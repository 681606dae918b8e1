"""A badge for each target, or for a run: JSON as shields.io reads it, and the same as a picture."""

import json
from pathlib import Path

from fencepost.conformance.suite.case import folder_name
from fencepost.conformance.suite.claims import TargetClaim, claim_of
from fencepost.conformance.suite.records import SuiteRun
from fencepost.conformance.verdict import SHOWN, Verdict
from fencepost.reports.page import svg

LABEL = "fencepost"
GREEN, RED, AMBER = "#00695c", "#b3261e", "#8a5a00"
HEIGHT = 20.0
CHARACTER = 6.6
"""Width of one in 11 px, on average."""


def write_badges(run: SuiteRun) -> list[Path]:
    """`badge.json` and `badge.svg` in the folder of the run; with several targets, one of each."""
    written = []
    for target in run.header.targets:
        suffix = f"-{folder_name(target)}" if len(run.header.targets) > 1 else ""
        claim, colour = claim_of(run, target), _colour(run, target)
        written += write_badge(run.folder, message_of(run, claim), colour, suffix)
    return written


def write_badge(folder: Path, message: str, colour: str, suffix: str = "") -> list[Path]:
    """`badge.json` and `badge.svg` are in `folder`; `suffix` stands before the dot."""
    shield = {"schemaVersion": 1, "label": LABEL, "message": message, "color": colour}
    as_json = folder / f"badge{suffix}.json"
    as_json.write_text(json.dumps(shield, indent=1, ensure_ascii=False) + "\n", "utf-8")
    as_picture = as_json.with_suffix(".svg")
    as_picture.write_text(badge_picture(message, colour), "utf-8")
    return [as_json, as_picture]


def colour_of(verdict: Verdict) -> str:
    """Of a run: green only where something was shown and nothing is owed."""
    if verdict in {Verdict.FAIL, Verdict.ERROR}:
        return RED
    return GREEN if verdict in SHOWN else AMBER


def message_of(run: SuiteRun, claim: TargetClaim) -> str:
    """The claim, or only counts."""
    return f"{run.header.profile} {run.header.version}" if claim.is_met else claim.counts


def badge_picture(message: str, colour: str) -> str:
    """A picture that needs nothing else."""
    left, right = (CHARACTER * len(words) + 14 for words in (LABEL, message))
    font = "11px Verdana, DejaVu Sans, sans-serif"
    boxes = (
        svg.element("rect", width=left, height=HEIGHT, fill="#45423d"),
        svg.element("rect", x=left, width=right, height=HEIGHT, fill=colour),
    )
    words = (
        svg.element("text", LABEL, x=7, y=14, fill="#fff", style=f"font:{font}"),
        svg.element("text", message, x=left + 7, y=14, fill="#fff", style=f"font:{font}"),
    )
    return svg.element(
        "svg",
        svg.element("title", f"{LABEL}: {message}"),
        *boxes,
        *words,
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        width=left + right,
        height=HEIGHT,
    )


def _colour(run: SuiteRun, target: str) -> str:
    claim = claim_of(run, target)
    found = {run.verdict_of(target, case) for case in run.header.cases}
    if found & {Verdict.FAIL, Verdict.ERROR}:
        return RED
    return GREEN if claim.is_met else AMBER
