"""The Spark session of reports, where it does not come to be."""

import signal
import sys
from typing import NoReturn

import pytest
from py4j.java_gateway import GatewayClient

from fencepost.fault_injection.processes.ports import free_ports
from fencepost.reports.spark import session
from fencepost.reports.tables.errors import ReportError


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


def test_a_spark_connect_server_that_is_not_there_is_one_sentence_and_names_no_token() -> None:
    pytest.importorskip("grpc_status", reason="fencepost[connect] is not installed: make setup")
    (port,) = free_ports(1)
    address = f"sc://127.0.0.1:{port}"

    with (
        pytest.raises(ReportError, match=f"at {address}: failed to connect .* refused; check") as e,
        session.spark_session(f"{address}/;user_id=secret"),
    ):
        pytest.fail("no session can have come to be")

    assert "secret" not in str(e.value)


def test_a_spark_connect_address_that_is_none_is_one_sentence() -> None:
    pytest.importorskip("grpc_status", reason="fencepost[connect] is not installed: make setup")

    with (
        pytest.raises(ReportError, match="sc://host:port: Port could not be cast to integer"),
        session.spark_session("sc://host:port"),
    ):
        pytest.fail("no session can have come to be")


def test_a_client_of_spark_connect_without_its_packages_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "grpc_status", None)

    with (
        pytest.raises(ReportError, match=r'grpcio-status.*; pip install "fencepost\[connect\]"'),
        session.spark_session("sc://127.0.0.1"),
    ):
        pytest.fail("no session can have come to be")
