"""Every way in which TLC cannot check is one sentence, and nothing of TLC outlives us."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.spec.tlc.models import Model, ModelVerdict
from fencepost.spec.tlc.runner import TlcOptions, check_model
from tests.spec.tlc.counter_model import CONFIG, COUNTER, write_counter

GONE_DEADLINE_S = 60.0
POLL_S = 0.05

ENDLESS = """
import signal, sys
from dataclasses import replace
from pathlib import Path
from fencepost.ci.cli import Terminated
from fencepost.spec.tlc.runner import TlcOptions, check_models
from tests.spec.tlc.counter_model import CONFIG, write_counter

def end(*_):
    raise Terminated

signal.signal(signal.SIGTERM, end)
model = write_counter(Path(sys.argv[1]))
(model.directory / "Counter.cfg").write_text(CONFIG.replace("NEXT Next", "NEXT Endless"))
check_models([replace(model, budget_s=600)], options=TlcOptions(use_cache=False))
"""


@pytest.fixture
def counter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    return write_counter(tmp_path / "modules")


@pytest.mark.tlc
@pytest.mark.parametrize(
    ("module", "config", "sentence"),
    [
        (COUNTER.replace("x < 2", "x < )"), CONFIG, "module Counter, line 9: Encountered "),
        (COUNTER, CONFIG + "INVARIANT Nope\n", "Counter.cfg, line 5: The invariant Nope specified"),
        (COUNTER, CONFIG + "PROPERTY Nope\n", "Counter.cfg, line 5: The property Nope specified"),
        (
            COUNTER.replace("x < 2", "x < Head(<<>>)").replace("Integers", "Integers, Sequences"),
            CONFIG + "INVARIANT Low\n",
            "module Counter, line 9: Attempted to apply Head to the empty sequence.",
        ),
        (COUNTER.replace("Other!", "Another!"), CONFIG, "module Counter, line 7: "),
    ],
)
def test_what_tlc_cannot_check_is_a_sentence_with_its_place(
    counter: Model, module: str, config: str, sentence: str
) -> None:
    counter.module_path.write_text(module)
    (counter.directory / "Counter.cfg").write_text(config)

    result = check_model(counter)

    assert (result.verdict, result.agrees) == (ModelVerdict.ERROR, False)
    assert result.why.startswith(sentence)
    assert "\n" not in result.why


@pytest.mark.tlc
def test_a_model_that_needs_more_memory_says_so(counter: Model) -> None:
    huge = "Next == \\E s \\in SUBSET (SUBSET (1..23)) : x' = s"
    text = COUNTER.replace("Next == x' = Other!Following(x)", huge)
    counter.module_path.write_text(text)

    result = check_model(counter, options=TlcOptions(heap_mb=24))

    assert result.verdict is ModelVerdict.ERROR
    assert result.why.startswith("model counter: TLC ran out of memory after 1 distinct states")
    assert "heap of 24 MiB; raise heap_mb" in result.why


def test_a_broken_jar_is_named(
    counter: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = tmp_path / "broken.jar"
    jar.write_bytes(b"PK no more")
    monkeypatch.setenv("TLA2TOOLS_JAR", str(jar))

    result = check_model(counter)

    assert result.verdict is ModelVerdict.ERROR
    assert result.why.startswith(f"{jar} is not a tla2tools.jar")


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (CONFIG.replace("N = 3", "N = 3\n    M = 1"), "Counter.cfg, line 3: module Counter has no"),
        (
            CONFIG.replace("N = 3", "N = 3\n    N = 4"),
            "Counter.cfg, line 3: constant N is assigned",
        ),
        (CONFIG.replace("N = 3", "\\* N = 3"), "constant N of module Counter has no value"),
        (
            CONFIG.replace("N = 3", "N = 3\n Base = 1"),
            "Counter.cfg, line 3: module Counter has no constant Base; that of Step gets its value",
        ),
    ],
)
def test_a_wrong_constant_is_told_with_its_line(counter: Model, config: str, sentence: str) -> None:
    (counter.directory / "Step.tla").write_text(
        "---- MODULE Step ----\nCONSTANT N, Base\nFollowing(n) == (n + 1) % N\n====\n"
    )
    (counter.directory / "Counter.cfg").write_text(config)

    result = check_model(counter)

    assert result.why.startswith(f"model counter: {sentence}")


@pytest.mark.tlc
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_tlc_ends_with_its_parent(
    tmp_path: Path, number: signal.Signals, processes_of: Callable[[str, str], set[int]]
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    mark = ("FENCEPOST_TEST_MARK", tmp_path.name)
    environment = {**os.environ, "TMPDIR": str(temporary), mark[0]: mark[1]}
    parent = subprocess.Popen(
        [sys.executable, "-c", ENDLESS, str(tmp_path / "modules")],
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: any(temporary.glob("fencepost-tlc-*/run/states")))
        assert len(processes_of(*mark)) == 2
    finally:
        parent.send_signal(number)
        parent.wait()

    until(lambda: not processes_of(*mark))
    left = list(temporary.glob("fencepost-tlc-*"))
    assert number is signal.SIGKILL or left == []


def until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + GONE_DEADLINE_S
    while not is_true():
        assert time.monotonic() < deadline, "the deadline passed"
        threading.Event().wait(POLL_S)


@pytest.mark.tlc
def test_budgets_of_the_call_replace_those_of_the_row(counter: Model) -> None:
    config = CONFIG.replace("NEXT Next", "NEXT Endless")
    (counter.directory / "Counter.cfg").write_text(config)

    result = check_model(replace(counter, budget_s=600), options=TlcOptions(time_budget_s=2))

    assert result.why.startswith("not exhausted after 2 s: ")
