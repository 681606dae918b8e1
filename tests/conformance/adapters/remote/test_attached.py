"""An adapter that listens is judged as one that is started; each way to fail has its sentence."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from fencepost.ci import cli
from fencepost.ci.exit_codes import INCOMPLETE
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.reference import implementation_of
from fencepost.conformance.adapters.remote.adapter import Adapter
from fencepost.conformance.adapters.remote.channels import AdapterError, open_channel
from fencepost.conformance.adapters.remote.messages import ObserveCall, Observed
from fencepost.conformance.verdict import Verdict
from fencepost.conformance.whitebox.zoo.animals import HERE
from fencepost.fault_injection.processes.supervisor import Supervisor
from tests.conformance.adapters.remote.plays import play, story

BAD, STRANGER = str(HERE / "bad_adapter.py"), str(HERE / "stranger.py")


class Listener:
    """Runs a program for each connection, as inetd does."""

    def __init__(self, *words: str) -> None:
        self.command = [sys.executable, *words]
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.target = f"tcp:127.0.0.1:{self.socket.getsockname()[1]}"
        self.thread = Thread(target=self.serve)
        self.thread.start()

    def serve(self) -> None:
        with suppress(OSError):  # closed
            while True:
                peer, _ = self.socket.accept()
                with peer:
                    ends = peer.fileno()
                    subprocess.run(self.command, stdin=ends, stdout=ends, check=False)

    def close(self) -> None:
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()


@pytest.fixture
def listener(request: pytest.FixtureRequest) -> Iterator[Listener]:
    found = Listener(*request.param)
    yield found
    found.close()


@pytest.mark.parametrize("listener", [[STRANGER]], indirect=True)
def test_an_adapter_that_listens_is_judged(listener: Listener, tmp_path: Path) -> None:
    result = play(listener.target, story("brief_kill"), tmp_path)

    assert (result.verdict, result.why) == (Verdict.PASS, "")
    assert f"--target {listener.target}" in result.reproduce


@pytest.mark.parametrize("listener", [[BAD, "crashes", "3"]], indirect=True)
def test_one_that_closes_in_a_call_is_told(listener: Listener, tmp_path: Path) -> None:
    with Supervisor(tmp_path, "zoo") as supervisor:
        adapter = Adapter(open_channel(listener.target, supervisor))
        adapter.require(ObserveCall(), Observed)
        with pytest.raises(
            AdapterError, match=r"^ADAPTER_CRASH: the adapter closed the connection"
        ):
            adapter.require(ObserveCall(), Observed)
        adapter.close()


@pytest.mark.parametrize(
    ("listener", "sentence"),
    [
        ([BAD, "crashes", "1"], "ADAPTER_CRASH: the adapter closed the connection in hello"),
        ([BAD, "has_processes"], "it declares processes, and signals reach only what the harness"),
    ],
    indirect=["listener"],
)
def test_one_that_cannot_be_greeted(listener: Listener, sentence: str) -> None:
    told = f"^{listener.target} cannot be put under test: {sentence}"

    with pytest.raises(AdapterError, match=told):
        implementation_of(listener.target)


def test_where_nothing_listens(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        target = f"tcp:127.0.0.1:{taken.getsockname()[1]}"

    assert cli.run(["chaos", "--target", target, "--story", "quiet"]) == INCOMPLETE
    told = f"{target} cannot be put under test: nothing can be reached there: "
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("target", ["tcp:", "tcp:7070", "tcp:localhost:", "tcp:localhost:http"])
def test_what_is_no_place_is_no_choice(target: str) -> None:
    with pytest.raises(ChoiceError, match=f"^{target} is no place; give tcp:HOST:PORT$"):
        implementation_of(target)
