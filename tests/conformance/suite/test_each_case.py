"""The cases of the suite, each as a test: `pytest -m conformance --fencepost-target=...`."""

import pytest

from fencepost.conformance.testing.suite_cases import ConformanceCase


@pytest.mark.conformance
def test_case(conformance_case: ConformanceCase) -> None:
    conformance_case.play()
