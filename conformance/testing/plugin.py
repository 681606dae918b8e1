"""The pytest plugin: options, the marker `chaos`, and the fixtures `cluster`, `faults`, `quiet`.

Every pytest run of an environment that has Fencepost imports this module, so it imports nothing
but pytest: what knows gRPC comes when the first cluster starts. The run of a test ends inside its
call, not in the teardown of a fixture: a violation fails the test itself.
"""

import os
import shlex
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conformance.adapter import ClusterSettings
    from conformance.testing.bundle import Recorded
    from conformance.testing.cluster import RunningCluster
    from conformance.testing.faults import Faults
    from conformance.testing.marker import ChaosMark
    from conformance.testing.quiet import Quiet
    from conformance.testing.run import ChaosRun, Tested

MARKER = "chaos"
FIXTURE = "fencepost_run"
SEED = "fencepost_seed"
OUT = Path(".fencepost") / "tests"
"""Below the root of the tests."""
UNDECIDED = ("fail", "skip")
SEEDS_MAX = 10_000
OWN_ZOOKEEPERS = ("embedded", "ensemble")
"""As `conformance.zookeepers` has them, which would take long to import."""

RUN = pytest.StashKey["ChaosRun"]()
REFUSED = pytest.StashKey[str]()
RECORDED = pytest.StashKey["Recorded | None"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options and settings are known."""
    group = parser.getgroup("fencepost", "Fencepost: faults on a real cluster")
    group.addoption(
        "--fencepost-seed", type=int, metavar="N", help="run chaos tests with this seed alone"
    )
    group.addoption(
        "--fencepost-replay",
        metavar="RUN",
        help="run the test of this bundle again, with its seed and the brokers that it hurt",
    )
    group.addoption(
        "--fencepost-out",
        metavar="DIR",
        help=f"keep the traces of all chaos runs here; else of failing ones, in {OUT}",
    )
    group.addoption(
        "--fencepost-command",
        metavar="COMMAND",
        help="how a broker is started; the reference by default",
    )
    group.addoption(
        "--fencepost-zookeeper",
        metavar="WHICH",
        help="embedded (default), ensemble, or host:port/chroot of one that runs",
    )
    parser.addini("fencepost_command", "as --fencepost-command", default="")
    parser.addini("fencepost_zookeeper", "as --fencepost-zookeeper", default="")
    parser.addini(
        "fencepost_undecided",
        "what a vacuous or inconclusive chaos test does: fail (default) or skip",
        default="fail",
    )


def pytest_configure(config: pytest.Config) -> None:
    """The marker is known, and the run to run again is read; raises `pytest.UsageError`."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(profile=None, seeds=1, budget=12, level=2): faults on a real cluster; profile: "
        "kinds to draw from, seeds: how many, budget: seconds of drawn faults",
    )
    _check_settings(config)
    config.stash[RECORDED] = None
    replay = config.getoption("--fencepost-replay")
    if replay is not None:
        if config.getoption("--fencepost-seed") is not None:
            raise pytest.UsageError(
                "--fencepost-replay takes the seed from the bundle; leave out --fencepost-seed"
            )
        config.stash[RECORDED] = _recorded(config, Path(replay))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with seeds is one test per seed."""
    if SEED not in metafunc.fixturenames:
        return
    seeds = _seeds(metafunc)
    if seeds is not None:
        metafunc.parametrize(SEED, seeds, ids=[f"seed-{seed}" for seed in seeds])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Markers are sound, and only the recorded test is left; raises `pytest.UsageError`."""
    from conformance.adapter import UsageError

    for item in items:
        try:
            _mark_of(item)
        except UsageError as error:
            _refuse(item, f"{item.nodeid}: {error}")
    recorded = config.stash[RECORDED]
    if recorded is None or not items:
        return
    wanted = [item for item in items if item.nodeid == recorded.test]
    if not wanted:
        wanted = items[:1]
        told = f"{recorded.folder} is a run of {recorded.test}"
        _refuse(wanted[0], f"{told}, which is not among the collected tests")
    config.hook.pytest_deselected(items=[item for item in items if item not in wanted])
    items[:] = wanted


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """What a worker had to refuse fails."""
    if REFUSED in item.stash:
        raise pytest.fail.Exception(item.stash[REFUSED], pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """After the test all is healed, read and judged, whatever the test did."""
    try:
        yield
    except (Exception, pytest.fail.Exception) as error:
        if RUN in item.stash:
            _end(item, error)
        raise
    except BaseException as error:  # skipped, or Ctrl-C
        if RUN in item.stash:
            item.stash[RUN].abandon(error)
        raise
    if RUN in item.stash:
        _end(item, None)


@pytest.fixture
def cluster(fencepost_run: "ChaosRun") -> "RunningCluster":
    """Brokers and a ZooKeeper that run, the topic `orders`, and clients at work on it."""
    return fencepost_run.cluster


@pytest.fixture
def faults(fencepost_run: "ChaosRun") -> "Faults":
    """`with faults.active(fault) as evidence:`, or `faults.run(schedule)`."""
    return fencepost_run.faults


@pytest.fixture
def quiet(fencepost_run: "ChaosRun") -> "Quiet":
    """`with quiet:` nothing goes wrong, and clients are served."""
    return fencepost_run.quiet


@pytest.fixture
def cluster_settings() -> "ClusterSettings":
    """How many brokers, with which times; a project may have its own fixture of this name."""
    from conformance.adapter import ClusterSettings

    return ClusterSettings()


@pytest.fixture
def fencepost_seed(request: pytest.FixtureRequest) -> int:
    """The seed of this run; more than one when the marker says so."""
    recorded = request.config.stash[RECORDED]
    return recorded.seed if recorded else 0


@pytest.fixture
def fencepost_run(
    request: pytest.FixtureRequest, fencepost_seed: int, cluster_settings: "ClusterSettings"
) -> "Iterator[ChaosRun]":
    """The run of one test: a cluster is up and clients are served."""
    from conformance.adapter import UsageError
    from conformance.cluster import ClusterError
    from conformance.testing.run import ChaosRun, shown
    from fault_injection.supervisor import ProcessError
    from fault_injection.zookeeper_address import ZooKeeperError

    try:
        run = ChaosRun(tested=_tested(request.node, fencepost_seed, cluster_settings))
    except UsageError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    try:
        run.start()
    except (ClusterError, ProcessError, ZooKeeperError) as error:
        told = f"ERROR: no cluster to test: {error}\nbundle: {shown(run.folder)}"
        raise pytest.fail.Exception(told, pytrace=False) from None
    request.node.stash[RUN] = run
    yield run
    run.abandon()


def _refuse(item: pytest.Item, sentence: str) -> None:
    """Raise `pytest.UsageError`; a worker of pytest-xdist, which must not, lets the test fail."""
    if not hasattr(item.config, "workerinput"):
        raise pytest.UsageError(sentence)
    item.stash[REFUSED] = sentence


def _check_settings(config: pytest.Config) -> None:
    """Raise `pytest.UsageError` for what no test could be run with."""
    undecided = config.getini("fencepost_undecided")
    if undecided not in UNDECIDED:
        raise pytest.UsageError(
            f"fencepost_undecided is {undecided!r}; choose one of {', '.join(UNDECIDED)}"
        )
    command, zookeeper = _given(config, "command"), _given(config, "zookeeper")
    try:
        shlex.split(command)
    except ValueError as error:
        raise pytest.UsageError(f"--fencepost-command {command!r}: {error}") from error
    if zookeeper and zookeeper not in OWN_ZOOKEEPERS:
        from fault_injection.zookeeper_address import ZooKeeperAddress, ZooKeeperError

        try:
            ZooKeeperAddress.parse(zookeeper)
        except ZooKeeperError as error:
            raise pytest.UsageError(f"{error}, or {' or '.join(OWN_ZOOKEEPERS)}") from error


def _given(config: pytest.Config, name: str) -> str:
    """What the command line says, or else the settings; empty when nothing does."""
    option: str | None = config.getoption(f"--fencepost-{name}")
    setting: str = config.getini(f"fencepost_{name}")
    return setting if option is None else option


def _end(item: pytest.Item, error: BaseException | None) -> None:
    """The run is over; raises what the verdict asks for, or adds it to what the test raised."""
    from conformance.testing.run import is_own, message_of
    from conformance.verdict import Verdict

    run = item.stash[RUN]
    result = run.end(error)
    told = message_of(result, run.folder)
    if error is not None and not is_own(error):
        _add(error, told)
        return
    if result.verdict is Verdict.PASS:
        if item.config.getoption("--fencepost-out") is None:
            shutil.rmtree(run.folder, ignore_errors=True)
        return
    is_undecided = result.verdict in (Verdict.VACUOUS, Verdict.INCONCLUSIVE)
    if is_undecided and item.config.getini("fencepost_undecided") == "skip":
        raise pytest.skip.Exception(told) from None
    raise pytest.fail.Exception(told, pytrace=False) from None


def _add(error: BaseException, told: str) -> None:
    if isinstance(error, pytest.fail.Exception):
        error.msg = f"{error.msg}\n{told}"
    else:
        error.add_note(told)


def _tested(item: pytest.Item, seed: int, settings: "ClusterSettings") -> "Tested":
    from conformance.testing.run import Tested, settings_of
    from conformance.zookeepers import EMBEDDED

    config = item.config
    mark, recorded = _mark_of(item), config.stash[RECORDED]
    marked = f"-m {MARKER} " if item.get_closest_marker(MARKER) else ""
    doc = getattr(getattr(item, "function", None), "__doc__", None) or item.name
    return Tested(
        test=item.nodeid,
        name=item.name,
        sentence=doc.strip().splitlines()[0],
        seed=seed,
        settings=settings_of(settings, mark, recorded, _given(config, "command")),
        mark=mark,
        out=_out(config),
        zookeeper=_given(config, "zookeeper") or (recorded and recorded.zookeeper) or EMBEDDED,
        again=f"pytest {marked}{shlex.quote(_node_id(item))} --fencepost-replay",
        recorded=recorded,
    )


def _node_id(item: pytest.Item) -> str:
    """As a person types it here; that of pytest begins at the root of the tests."""
    file, separator, name = item.nodeid.partition("::")
    path = os.path.relpath(item.config.rootpath / file, item.config.invocation_params.dir)
    return f"{path}{separator}{name}"


def _out(config: pytest.Config) -> Path:
    """The folder of all bundles; one that nobody named is not for version control."""
    named: str | None = config.getoption("--fencepost-out")
    if named is not None:
        return config.invocation_params.dir / named
    folder = config.rootpath / OUT
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
    return folder


def _recorded(config: pytest.Config, folder: Path) -> "Recorded":
    from conformance.adapter import UsageError
    from conformance.testing.bundle import read_bundle

    try:
        return read_bundle(config.invocation_params.dir / folder)
    except UsageError as error:
        raise pytest.UsageError(f"--fencepost-replay: {error}") from error


def _mark_of(item: pytest.Item) -> "ChaosMark":
    """The markers of a test, its module's and its own; raises `UsageError` of this room."""
    from conformance.adapter import UsageError
    from conformance.testing.marker import read_mark

    args, given = _marked(item)
    if (args or given) and FIXTURE not in getattr(item, "fixturenames", ()):
        raise UsageError("chaos(...) hurts a cluster; take the fixture cluster, faults or quiet")
    return read_mark(args, given)


def _marked(node: pytest.Item) -> tuple[tuple[object, ...], dict[str, object]]:
    """What all markers of the name say together; the closest one wins."""
    marks = list(node.iter_markers(MARKER))
    given = {name: value for mark in reversed(marks) for name, value in mark.kwargs.items()}
    return tuple(value for mark in marks for value in mark.args), given


def _seeds(metafunc: pytest.Metafunc) -> list[int] | None:
    """The seeds that a test is run with, or None when it is run once and needs no name for it."""
    only: int | None = metafunc.config.getoption("--fencepost-seed")
    recorded = metafunc.config.stash[RECORDED]
    if recorded is not None:
        return [recorded.seed] if f"seed-{recorded.seed}" in recorded.test else None
    if only is not None:
        return [only]
    _, given = _marked(metafunc.definition)
    count = given.get("seeds")
    # What is no number of seeds is refused when all tests are collected, in one sentence.
    return list(range(count)) if isinstance(count, int) and 0 < count <= SEEDS_MAX else None
