"""The Spark session of reports, where it does not come to be."""

import signal
from typing import NoReturn

import pytest
from py4j.java_gateway import GatewayClient

from fencepost.reports.spark import session


class Interrupted:
    """A connection to Java on which Ctrl-C comes before any answer."""

    socket = None

    def send_command(self, _command: str) -> NoReturn:
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("Ctrl-C was lost")

    def close(self, _reset: bool) -> None:
        pass


def test_an_interrupt_while_spark_starts_is_not_talked_about(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(GatewayClient, "_get_connection", lambda _: Interrupted())
    monkeypatch.setattr(session, "launch_gateway", lambda *_: GatewayClient().send_command("i\n"))

    with pytest.raises(KeyboardInterrupt), session.spark_session(None):
        pytest.fail("no session can have come to be")

    assert caplog.records == []
