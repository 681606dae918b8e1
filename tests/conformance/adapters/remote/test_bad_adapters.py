"""Each bad adapter has its own sentence; a run that has one is an error, with nothing left."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.implementation import Capability
from fencepost.conformance.adapters.reference import implementation_of
from fencepost.conformance.adapters.remote.adapter import Adapter
from fencepost.conformance.adapters.remote.channels import AdapterError, open_channel
from fencepost.conformance.adapters.remote.cluster import RemoteBrokers
from fencepost.conformance.adapters.remote.messages import (
    ClusterDestroyCall,
    Done,
    ObserveCall,
    Observed,
)
from fencepost.conformance.adapters.remote.traces import TraceReader
from fencepost.conformance.adapters.remote.transport import RemoteTransport
from fencepost.conformance.clients.transport import Caller
from fencepost.conformance.verdict import Verdict
from fencepost.conformance.whitebox.zoo.animals import target_of
from fencepost.fault_injection.processes.managed_process import ProcessError
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.workload.commands import ControlCommand, ControlMethod
from fencepost.spec.trace import LamportClock
from tests.conformance.adapters.remote.plays import play, stranger
from tests.conformance.sites import site_at

CALLER = Caller(node="harness", clock=LamportClock())
PROCESSES = frozenset({Capability.PROCESSES})
STALE = ControlCommand(
    method=ControlMethod.UPDATE_METADATA,
    controller_id=1,
    controller_epoch=0,
    broker_id=1,
    broker_epoch=-1,
)
AT = "3"
"""The call that a bad habit spoils; `hello` is the first."""
ZOO = {
    "crashes": "ADAPTER_CRASH: the adapter ended with status 7 in observe",
    "wrong_id": "call 1003 waits for no answer; those that wait are 3",
    "garbage": "the adapter wrote 'starting up, please wait', which is no answer: ",
    "long_line": "the adapter wrote a line of more than 1048576 bytes: ",
    "duplicate": ": call 3 waits for no answer; those that wait are ",
    "missing_field": '"ofset": 1}\': Object ',
}


def zoo(*words: str) -> str:
    return target_of("bad_adapter", *words)


@contextmanager
def adapter_at(folder: Path, *words: str) -> Iterator[Adapter]:
    with Supervisor(folder, "zoo") as supervisor:
        adapter = Adapter(open_channel(zoo(*words), supervisor))
        try:
            yield adapter
        finally:
            adapter.close()


def observe_twice(adapter: Adapter) -> None:
    """The second call is there for what follows the answer to the first."""
    adapter.require(ObserveCall(), Observed)
    adapter.require(ObserveCall(), Observed)


@pytest.mark.parametrize("habit", ZOO)
def test_a_bad_adapter_fails_with_its_own_sentence(habit: str, tmp_path: Path) -> None:
    with adapter_at(tmp_path, habit, AT) as adapter:
        adapter.require(ObserveCall(), Observed)

        with pytest.raises(AdapterError, match=re.escape(ZOO[habit])):
            observe_twice(adapter)
        assert adapter.has_failed


def test_an_adapter_that_hangs_is_told_with_the_call_and_its_deadline(tmp_path: Path) -> None:
    with adapter_at(tmp_path, "hangs", "2") as adapter:
        with pytest.raises(AdapterError, match=r"^the adapter did not answer observe within 50"):
            adapter.require(ObserveCall(deadline_ms=50), Observed)
        assert adapter.has_failed


def test_what_every_adapter_must_support_is_named(tmp_path: Path) -> None:
    told = "^the adapter does not support cluster_destroy, which every adapter must$"

    with adapter_at(tmp_path, "") as adapter, pytest.raises(AdapterError, match=told):
        adapter.require(ClusterDestroyCall(), Done)


def test_a_pid_of_another_program_gets_no_signal(tmp_path: Path) -> None:
    told = "^pid 1 is not broker-1: no process of this run has that pid$"

    with Supervisor(tmp_path, "zoo") as supervisor:
        adapter = Adapter(open_channel(zoo(""), supervisor))
        brokers = RemoteBrokers(adapter, site_at(tmp_path, supervisor), PROCESSES)
        with pytest.raises(ProcessError, match=told):
            brokers.start(1)
        adapter.close()


@pytest.mark.parametrize(
    ("habit", "sentence"),
    [
        ("cursor_stays", "with 1 events and the cursor 0; expected was one beyond 0"),
        ("trace_of_another", "an event of 'client-1' in run 'r'; expected were broker-1, broker-2"),
        ("trace_of_no_event", "the adapter answered trace_read with '{"),
        ("", "the adapter does not support trace_read, which every adapter must"),
    ],
)
def test_a_bad_trace_fails_with_its_own_sentence(habit: str, sentence: str, tmp_path: Path) -> None:
    with Supervisor(tmp_path / "zoo", "zoo") as supervisor:
        adapter = Adapter(open_channel(zoo(habit), supervisor))
        reader = TraceReader(adapter, site_at(tmp_path, supervisor))
        with pytest.raises(AdapterError, match=re.escape(sentence)):
            reader.close()
        adapter.close()


def test_a_command_that_is_refused_for_no_reason_is_quoted(tmp_path: Path) -> None:
    told = re.escape("the adapter answered control with") + ".*missing required field `error_code`"

    with adapter_at(tmp_path, "refuses_no_reason") as adapter:
        broker = RemoteTransport(adapter).connect("1", CALLER)
        with pytest.raises(AdapterError, match=told):
            broker.command(STALE)


def test_an_adapter_without_commands_refuses_them(tmp_path: Path) -> None:
    with adapter_at(tmp_path, "") as adapter:
        answer = RemoteTransport(adapter).connect("1", CALLER).command(STALE)

    assert answer.line == "REQUEST_UNKNOWN"


def test_a_promise_of_traces_must_be_kept() -> None:
    found = implementation_of(zoo("")).contradictions([])

    assert found == ["zoo observes roles, and no broker wrote a trace"]


def test_a_crash_is_an_error_with_what_the_adapter_wrote_last(
    tmp_path: Path, processes_of: Callable[[str, str], set[int]]
) -> None:
    result = play(stranger("crashes"), "quiet", tmp_path)

    assert result.verdict is Verdict.ERROR
    assert result.why.startswith("ADAPTER_CRASH: the adapter ended with status 7 in ")
    assert "standard error ended with:\nthe disk of the adapter is on fire" in result.why
    assert '"status": "ok"' in result.why
    log = tmp_path / "run" / "processes" / "adapter.log"
    assert log.read_text() == "the disk of the adapter is on fire\n"
    assert not processes_of("FENCEPOST_RUN_ID", result.run_id)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["agrees_to_all"], "was asked for 'a feature that does not exist' and did not answer"),
        (["crashes", "1"], "ADAPTER_CRASH: the adapter ended with status 7 in hello"),
        (["missing_field", "1"], "expected were status ok and id, protocol, name"),
    ],
)
def test_an_adapter_that_cannot_be_greeted_is_not_put_under_test(
    words: list[str], sentence: str
) -> None:
    with pytest.raises(AdapterError, match=re.escape(sentence)):
        implementation_of(zoo(*words))


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("cmd:./nothing", "cmd:./nothing names no program that can be run"),
        ("cmd:", "cmd: names no program that can be run"),
        ("cmd:say 'hello", "cmd:say 'hello is no command line: No closing quotation"),
    ],
)
def test_what_is_no_program_is_no_choice(command: str, sentence: str) -> None:
    with pytest.raises(ChoiceError, match=re.escape(sentence)):
        implementation_of(command)
