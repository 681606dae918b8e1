"""The bench of faults still measures what it says; how fast anything is, no test asks."""

import pytest

from fencepost.ci.bench import faults


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "ROUNDS", 1)
    monkeypatch.setattr(faults, "REQUESTS", 2)


def test_rules_are_measured_around_both_ways_of_a_request() -> None:
    lines = [line.what.partition(" (")[0] for line in faults.rules()]

    assert lines == ["a rule, beside Fetch", "a rule, beside LeaderAndIsr"]


def test_proxy_is_measured_around_requests() -> None:
    lines = [line.what.partition(" (")[0] for line in faults.proxy()]

    assert lines == [
        "the proxy, around Fetch",
        "the proxy, around LeaderAndIsr",
    ]
