"""Ctrl-C is not lost in a library that takes whatever is raised for an error of its own."""

import signal
import threading

import pytest
from kazoo.client import KazooClient

from fencepost.fault_injection.processes.signal_delay import ENDING, handlers_wait
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient


@pytest.mark.parametrize("number", ENDING, ids=lambda n: n.name)
def test_a_handler_runs_after_the_body_and_as_before(number: signal.Signals) -> None:
    seen: list[str] = []
    before = signal.signal(number, lambda *_: seen.append("handled"))
    try:
        with handlers_wait():
            signal.raise_signal(number)
            seen.append("body")
        signal.raise_signal(number)
    finally:
        signal.signal(number, before)

    assert seen == ["body", "handled", "handled"]


def test_what_nobody_handles_is_left_alone() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with handlers_wait():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_handlers_are_those_of_the_main_thread() -> None:
    seen: list[bool] = []
    before = signal.getsignal(signal.SIGINT)

    def body() -> None:
        with handlers_wait():
            seen.append(signal.getsignal(signal.SIGINT) is before)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()

    assert seen == [True]


def test_ctrl_c_while_kazoo_sends_is_no_lost_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    swallowed: list[BaseException] = []

    def send(*_given: object) -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except BaseException as error:
            swallowed.append(error)

    monkeypatch.setattr(KazooClient, "_call", send)
    client = ZooKeeperClient("127.0.0.1:1")

    with pytest.raises(KeyboardInterrupt):
        client.exists("/controller")
    assert not swallowed
