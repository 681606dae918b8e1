"""A case of the conformance suite as a test: the fixture `conformance_case`.

The ids of the tests are those of the cases.
"""

import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from fencepost.conformance.suite.case import SuiteCase
from fencepost.conformance.suite.library import all_cases, selected
from fencepost.conformance.suite.play import SuitePlan, play_anew, settings_of_targets
from fencepost.conformance.testing.run import shown
from fencepost.conformance.verdict import Verdict

SKIPPED = frozenset({Verdict.UNSUPPORTED, Verdict.NOT_OBSERVABLE})


def cases_of(profile: str) -> tuple[SuiteCase, ...]:
    """The cases of a profile, or all; raises `ChoiceError`."""
    return selected(all_cases(), profile=profile)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConformanceCase:
    """A case and the target that it is to be played on."""

    case: SuiteCase
    target: str
    out: Path
    """The folder of all bundles."""

    def play(self) -> None:
        """Play the case on a cluster of its own; the test fails unless it passes.

        It is skipped when the target cannot do it, or shows too little.
        """
        plan = SuitePlan(targets=(self.target,), cases=(self.case,), select=(self.case.case_id,))
        folder = self.out / f"{self.case.folder_name}-{secrets.token_hex(3)}"
        run = play_anew(plan, settings_of_targets(plan.targets), folder)
        end = run.end_of(self.target, self.case.case_id)
        assert end is not None, "play tells every case"
        told = f"{end.verdict}: {end.message}\nbundle: {shown(folder)}\nagain: {end.again}"
        if end.verdict is Verdict.PASS:
            shutil.rmtree(folder, ignore_errors=True)
        elif end.verdict in SKIPPED:
            raise pytest.skip.Exception(told)
        else:
            raise pytest.fail.Exception(told, pytrace=False)
