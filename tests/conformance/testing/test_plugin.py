"""The plugin without a cluster: what it imports, selects, names and refuses."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from fencepost.conformance.clients.recorder import TraceWriter
from fencepost.conformance.suite.library import all_cases
from fencepost.conformance.testing.bundle import read_bundle
from fencepost.fault_injection.faults.process_faults import PauseBroker
from fencepost.fault_injection.faults.targets import broker
from fencepost.fault_injection.stories.story import At, Story, StoryAction
from fencepost.fault_injection.stories.story_file import as_document
from fencepost.spec.trace import Kind, LamportClock

PLUGIN = "fencepost.conformance.testing.plugin"
SOURCE = """
import pytest

@pytest.mark.chaos(seeds=2)
def test_seeds(cluster): ...

@pytest.mark.chaos
def test_bare(faults): ...

def test_other(): ...
"""
SETTINGS = """
import pytest
from fencepost.conformance.adapters.settings import ClusterSettings

@pytest.fixture
def cluster_settings():
    return ClusterSettings(network="namespaces")

def test_far(cluster): ...
"""
NAMESPACES = {"network": "namespaces"}
PAUSE = PauseBroker(target=broker(2), for_ms=9)
EXECUTED = Story(
    story_id="test_it",
    cluster={"first_controller": 3},
    actions=(StoryAction(action_id="fault-1", fault=PAUSE, when=At(at_ms=40)),),
)


def run(pytester: pytest.Pytester, *args: str, source: str = SOURCE) -> pytest.RunResult:
    pytester.makepyfile(test_own=source)
    return pytester.runpytest_inprocess("-p", PLUGIN, "-p", "no:cacheprovider", *args)


def collected(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def bundle(folder: Path, told: Mapping[str, object]) -> Path:
    """A folder such as a failing test leaves, as far as it is read."""
    with TraceWriter(folder, run_id="r", node="harness", clock=LamportClock()) as harness:
        harness.write(Kind.RUN, "RunStarted", detail=json.dumps(told))
        harness.write(Kind.RUN, "RunEnded")
    (folder / "story.executed.json").write_text(json.dumps(as_document(EXECUTED)))
    return folder


def told(test: str, seed: int = 1) -> dict[str, object]:
    return {"test": test, "seed": seed, "level": 0, "command": None}


def test_importing_the_plugin_imports_nothing_heavy() -> None:
    program = f"import sys, {PLUGIN}; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    heavy = {
        "grpc",
        "kazoo",
        "pyspark",
        "google.protobuf",
        "msgspec",
        "fencepost.conformance.clients.client",
    }
    assert not [name for name in heavy if f"'{name}'".encode() in done.stdout]


def test_each_seed_is_a_test_of_its_own(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--collect-only", "-q", "-m", "chaos")

    assert collected(result) == [
        "test_own.py::test_seeds[seed-0]",
        "test_own.py::test_seeds[seed-1]",
        "test_own.py::test_bare",
    ]


def test_a_case_of_the_suite_is_a_test_with_its_id(pytester: pytest.Pytester) -> None:
    source = "def test_case(conformance_case): conformance_case.play()"
    result = run(pytester, "--collect-only", "-q", "--fencepost-profile", "full", source=source)
    refused = run(pytester, "--fencepost-profile", "cor", source=source)

    ids = [f"test_own.py::test_case[{case.case_id}]" for case in all_cases()]
    assert sorted(collected(result)) == sorted(ids)
    refused.stdout.fnmatch_lines(["*unknown profile 'cor'; did you mean core*"])


def test_seed_option_runs_that_seed_alone(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--collect-only", "-q", "--fencepost-seed", "77")

    assert collected(result) == [
        "test_own.py::test_seeds[seed-77]",
        "test_own.py::test_bare[seed-77]",
        "test_own.py::test_other",
    ]


@pytest.mark.parametrize(
    "test", ["test_own.py::test_seeds[seed-5]", "test_own.py::test_bare"], ids=["seeds", "bare"]
)
def test_replay_runs_the_recorded_test_alone(pytester: pytest.Pytester, test: str) -> None:
    folder = bundle(pytester.path / "run", told(test, seed=5))

    result = run(pytester, "--collect-only", "-q", "--fencepost-replay", str(folder))

    assert collected(result) == [test]


def test_without_namespaces_a_test_is_skipped_and_says_why(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    folder = bundle(pytester.path / "run", told("test_own.py::test_bare") | NAMESPACES)

    for args in (("--fencepost-network", "namespaces"), ("--fencepost-replay", str(folder))):
        result = run(pytester, "-rs", *args, "-k", "test_bare")

        result.assert_outcomes(skipped=1)
        result.stdout.fnmatch_lines(["SKIPPED*no network namespaces: only root can make them"])


def test_settings_alone_give_no_namespaces(pytester: pytest.Pytester) -> None:
    result = run(pytester, source=SETTINGS)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*begin in another place: give --fencepost-network namespaces"])


def test_bundle_tells_what_was_run_and_whom_it_hurt(tmp_path: Path) -> None:
    recorded = read_bundle(bundle(tmp_path / "run", told("t.py::test_it", seed=5)))

    assert (recorded.test, recorded.seed) == ("t.py::test_it", 5)
    assert (recorded.cluster["level"], recorded.cluster["first_controller"]) == (0, 3)
    assert recorded.faults == {"fault-1": EXECUTED.actions[0]}


@pytest.mark.parametrize(
    ("marker", "sentence"),
    [
        ("profile='earthquake'", "test_bad: unknown profile 'earthquake'; choose among all, "),
        ("level=9", "test_bad: level 9 is none; choose one of (0, 1, 2, 3, 4, 5)"),
        ("seeds=0", "test_bad: seeds is 0; say how many, from 1 to 10000"),
    ],
)
def test_bad_marker_is_one_sentence(pytester: pytest.Pytester, marker: str, sentence: str) -> None:
    source = f"import pytest\n@pytest.mark.chaos({marker})\ndef test_bad(cluster): ...\n"

    result = run(pytester, source=source)

    assert sentence in refusal(result)


def test_bad_marker_is_one_sentence_in_a_worker_too(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_own="import pytest\n@pytest.mark.chaos(level=9)\ndef test_bad(cluster): ...\n"
    )

    result = pytester.runpytest_subprocess("-p", PLUGIN, "-p", "no:cacheprovider", "-n", "1")

    result.assert_outcomes(errors=1)
    assert (
        "test_own.py::test_bad: level 9 is none; choose one of (0, 1, 2, 3, 4, 5)"
        in result.outlines
    )
    assert "Traceback" not in result.stdout.str()


def test_marker_of_a_test_without_a_cluster_is_refused(pytester: pytest.Pytester) -> None:
    source = "import pytest\n@pytest.mark.chaos(seeds=3)\ndef test_idle(): ...\n"

    line = refusal(run(pytester, source=source))

    assert "chaos(...) hurts a cluster; take the fixture cluster, faults or quiet" in line


def test_replay_of_no_folder_is_one_sentence(pytester: pytest.Pytester) -> None:
    line = refusal(run(pytester, "--fencepost-replay", "nowhere"))

    assert "is no run of a test: it holds no " in line


def test_replay_of_a_scenario_names_its_own_command(pytester: pytest.Pytester) -> None:
    folder = bundle(pytester.path / "run", {"reproduce": "fencepost chaos --story quiet"})

    line = refusal(run(pytester, "--fencepost-replay", str(folder)))

    assert "is no run of a test; run it again with: fencepost chaos --story quiet" in line


def test_replay_of_a_test_that_is_not_collected_is_one_sentence(pytester: pytest.Pytester) -> None:
    folder = bundle(pytester.path / "run", told("test_own.py::test_gone"))

    line = refusal(run(pytester, "--fencepost-replay", str(folder)))

    assert "is a run of test_own.py::test_gone, which is not among the collected tests" in line


def test_a_path_that_would_move_the_root_of_the_tests_is_refused(pytester: pytest.Pytester) -> None:
    line = refusal(run(pytester, "--fencepost-target", "/bin/sh -c true"))

    assert "write --fencepost-target=/bin/sh -c true with an equals sign: after a space py" in line
    page = Path(__file__).parents[3] / "docs" / "pytest.md"
    assert "A path is written with an equals sign, `--fencepost-target='/" in page.read_text()


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--fencepost-seed", "x"], "argument --fencepost-seed: invalid int value: 'x'"),
        (["--fencepost-target", "sh -c 'a"], '--fencepost-target "sh -c \'a": No closing quot'),
        (["--fencepost-zookeeper", "moon"], "'moon' is no ZooKeeper address; "),
        (
            ["--fencepost-network", "token-ring"],
            "--fencepost-network is 'token-ring'; choose one of proxy, namespaces",
        ),
        (
            ["--fencepost-network", "namespaces", "--fencepost-zookeeper", "localhost:1"],
            "namespaces reaches only servers that are in it: choose --fencepost-zookeeper emb",
        ),
        (
            ["--fencepost-seed", "1", "--fencepost-replay", "run"],
            "--fencepost-replay takes the seed from the bundle; leave out --fencepost-seed",
        ),
    ],
)
def test_bad_option_is_one_sentence(
    pytester: pytest.Pytester, args: list[str], sentence: str
) -> None:
    assert sentence in refusal(run(pytester, *args))


def test_a_target_that_cannot_be_greeted_is_one_sentence(pytester: pytest.Pytester) -> None:
    source = "def test_greeted(fencepost_run): ..."

    result = run(pytester, "--fencepost-target", "cmd:false", source=source)

    told = "cmd:false cannot be put under test: ADAPTER_CRASH: the adapter ended with status 1"
    assert told in result.stdout.str()
    assert "Traceback" not in result.stdout.str()
    assert "remote.py" not in result.stdout.str()


def test_unknown_setting_is_one_sentence(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nfencepost_undecided = pass\n")

    assert "fencepost_undecided is 'pass'; choose one of fail, skip" in refusal(run(pytester))


def test_tests_that_take_no_cluster_run_as_ever(pytester: pytest.Pytester) -> None:
    result = run(pytester, "-k", "test_other")

    result.assert_outcomes(passed=1, deselected=3)
    assert not (pytester.path / ".fencepost").exists()


def refusal(result: pytest.RunResult) -> str:
    """The line of the one error with which pytest ended."""
    said = [*result.errlines, *result.outlines]
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "Traceback" not in "\n".join(said)
    (line,) = [line for line in said if "error: " in line.lower() and "usage: " not in line]
    return line


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--fencepost-seed=-1", "--fencepost-seed is -1; give a whole number from 0 on"),
        ("--fencepost-out=test_own.py", "test_own.py takes no files: File exists; name another"),
        ("--fencepost-out=/proc/x", "/proc/x takes no files: No such file or directory; name"),
    ],
)
def test_an_option_that_no_test_can_be_run_with_is_refused(
    pytester: pytest.Pytester, option: str, message: str
) -> None:
    result = run(pytester, option)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert message in "\n".join(result.errlines)
