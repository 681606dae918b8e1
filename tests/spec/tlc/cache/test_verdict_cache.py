"""What was found before is found again, and only while it is about the same thing."""

from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.spec.tlc.cache import verdict_cache as cache
from fencepost.spec.tlc.counterexample import Counterexample, CounterexampleState
from fencepost.spec.tlc.java.output import Counts, TlcFinding
from fencepost.spec.tlc.models import Model, ModelVerdict
from fencepost.spec.tlc.modules import modules_read, without_comments
from fencepost.spec.tlc.runner import TlcOptions, check_model
from tests.spec.tlc.counter_model import write_counter

VIOLATED = TlcFinding(
    verdict=ModelVerdict.VIOLATES,
    violated="Low",
    counts=Counts(generated=3, distinct=2, queued=1),
    counterexample=Counterexample(
        states=(
            CounterexampleState(
                number=1, action="Init", module="", values={"x": 0, "seen": [{"a": True}]}
            ),
            CounterexampleState(
                number=2, action="Next", module="Counter", values={"x": 1, "seen": []}
            ),
        ),
        back_to=1,
    ),
)


@pytest.fixture
def counter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    return write_counter(tmp_path / "modules")


def entries(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "cache" / "models").rglob("*") if path.is_file()]


@pytest.mark.usefixtures("counter")
def test_a_finding_survives_with_its_counterexample() -> None:
    cache.keep("ab12", VIOLATED)

    assert cache.find("ab12") == VIOLATED
    assert cache.find("ab13") is None


@pytest.mark.usefixtures("counter")
@pytest.mark.parametrize("verdict", [ModelVerdict.NOT_EXHAUSTED, ModelVerdict.ERROR])
def test_a_search_that_did_not_end_is_not_kept(verdict: ModelVerdict) -> None:
    cache.keep("ab12", TlcFinding(verdict=verdict))

    assert cache.find("ab12") is None


@pytest.mark.usefixtures("counter")
def test_a_corrupt_entry_is_ignored_and_replaced(tmp_path: Path) -> None:
    cache.keep("ab12", VIOLATED)
    (entry,) = entries(tmp_path)
    whole = entry.read_bytes()

    for broken in (b"", whole[:-9], whole.replace(b'"distinct":2', b'"distinct":3'), b"\xff\n{}"):
        entry.write_bytes(broken)
        assert cache.find("ab12") is None
        cache.keep("ab12", VIOLATED)
        assert cache.find("ab12") == VIOLATED


def test_a_folder_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "file" / "cache"))

    cache.keep("ab12", VIOLATED)

    assert cache.find("ab12") is None


def test_only_what_is_read_is_part_of_the_key(counter: Model) -> None:
    root, jar = counter.module_path, counter.directory / "Stranger.tla"
    names = [path.name for path in modules_read(root)]
    key = cache.key_of(root, "N = 3", jar)

    assert names == ["Counter.tla", "Step.tla"]
    assert cache.key_of(root, "N = 4", jar) != key
    (counter.directory / "Step.tla").write_text("---- MODULE Step ----\n\\* other\n====\n")
    assert cache.key_of(root, "N = 3", jar) != key


def test_comments_nest_and_strings_are_no_comments() -> None:
    text = 'a (* b (* c *) EXTENDS D *) e \\* f "g\nh "(* i" j'

    assert without_comments(text) == 'a  e \nh "(* i" j'


@pytest.mark.tlc
def test_a_known_verdict_is_not_searched_again(counter: Model) -> None:
    def is_known(options: TlcOptions | None = None) -> bool:
        return check_model(counter, options=options).cached

    assert not is_known()
    assert is_known()
    assert not is_known(TlcOptions(use_cache=False))
    (counter.directory / "Stranger.tla").write_text("---- MODULE Stranger ----\nA == 1\n====\n")
    assert is_known()
    step = counter.directory / "Step.tla"
    step.write_text(step.read_text().replace("n + 1", "n + 2"))
    assert not is_known()
    assert not check_model(replace(counter, constants={"N": 5})).cached
