"""What is said without an engine, and what the reaper leaves of containers."""

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from fencepost.fault_injection.processes import container_engine
from fencepost.fault_injection.processes.container_engine import NoEngineError
from fencepost.fault_injection.processes.ledger import Ledger
from fencepost.fault_injection.processes.reaper import reap
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper.containers import OFFICIAL_IMAGE, image_name


class Engine:
    """Answers `204` to whatever it is asked."""

    def __init__(self, path: Path) -> None:
        self.asked: list[str] = []
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        self.url = f"unix://{path}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                self.asked.append(connection.recv(4096).decode().partition(" HTTP")[0])
                connection.sendall(b"HTTP/1.0 204 No Content\r\n\r\n")

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def engine() -> Iterator[Engine]:
    with TemporaryDirectory() as folder:  # the path of a socket must be short
        engine = Engine(Path(folder) / "engine")
        yield engine
        engine.close()


def test_what_a_harness_left_in_an_engine_is_removed_containers_first(
    engine: Engine, tmp_path: Path
) -> None:
    ledger = Ledger(tmp_path / "ledger")
    for kind, name in (("network", "n"), ("container", "a"), ("container", "b")):
        ledger.open(kind, name=name, engine=engine.url)

    reap(ledger)

    assert engine.asked == [
        "DELETE /containers/b?force=1&v=1",
        "DELETE /containers/a?force=1&v=1",
        "DELETE /networks/n",
    ]
    assert ledger.open_entries() == []


def test_an_engine_that_is_gone_took_its_containers_along_and_leaves_a_folder(
    tmp_path: Path,
) -> None:
    ledger = Ledger(tmp_path / "ledger")
    folder = tmp_path / "engine"
    (folder / "data").mkdir(parents=True)
    ledger.open("engine_folder", folder=str(folder))
    ledger.open("container", name="a", engine=f"unix://{tmp_path}/gone")

    reap(ledger)

    assert not folder.exists()
    assert ledger.open_entries() == []


def test_an_engine_behind_another_transport_needs_a_harness(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.open("container", name="a", engine="ssh://somewhere")

    reap(ledger)

    assert [entry.kind for entry in ledger.open_entries()] == ["container"]


def test_without_the_package_there_is_no_engine(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container_engine, "find_spec", lambda _name: None)

    with (
        pytest.raises(NoEngineError, match="no container engine: the package testcontainers is"),
        container_engine.container_engine(supervisor),
    ):
        pytest.fail("there is none")


def test_where_none_answers_it_is_told_why_none_is_started(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(container_engine, "find_spec", lambda _name: object())
    monkeypatch.setenv(container_engine.HOST_VARIABLE, f"unix://{tmp_path}/nobody")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    with (
        pytest.raises(NoEngineError, match=r"none answers at .*nobody, and only root can start"),
        container_engine.container_engine(supervisor),
    ):
        pytest.fail("there is none")


def test_the_image_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FENCEPOST_ZOOKEEPER_IMAGE", raising=False)
    assert image_name() == OFFICIAL_IMAGE

    monkeypatch.setenv("FENCEPOST_ZOOKEEPER_IMAGE", "mine:1")
    assert image_name() == "mine:1"
