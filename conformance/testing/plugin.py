"""The pytest plugin: the marker `chaos`, and the fixtures `cluster`, `faults`, `quiet`.

Every pytest run of an environment that has Fencepost imports this module, so it imports nothing
but pytest: what knows gRPC comes when the first cluster starts. The run of a test ends inside its
call, not in the teardown of a fixture: a violation fails the test itself.
"""

import os
import shlex
import shutil
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest

from fencepost.conformance.testing.network import PluginNetwork, enter_network
from fencepost.conformance.testing.options import (
    REPLAY,
    add_options,
    bundles,
    check_settings,
    given,
    is_skip,
    keeps_all,
    recorded_run,
)
from fencepost.conformance.testing.selection import MARKER, SEED, mark_of, refuse, refused, seeds_of

if TYPE_CHECKING:
    from fencepost.conformance.adapters.settings import ClusterSettings
    from fencepost.conformance.runs.running_cluster import RunningCluster
    from fencepost.conformance.testing.bundle import RecordedTest
    from fencepost.conformance.testing.faults import Faults
    from fencepost.conformance.testing.quiet import QuietSpan
    from fencepost.conformance.testing.run import ChaosRun, Tested
    from fencepost.conformance.testing.suite_cases import ConformanceCase

RUN: "pytest.StashKey[ChaosRun]" = pytest.StashKey()
RECORDED: "pytest.StashKey[RecordedTest | None]" = pytest.StashKey()
NETWORK: pytest.StashKey[PluginNetwork] = pytest.StashKey()
CASE = "conformance_case"
CHOSEN = {"command": "target", "zookeeper": "zookeeper"}
"""What decides the settings of a cluster, and the option for it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options and settings are known."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """The marker is known, and the run to run again is read; raises `pytest.UsageError`."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(profile=None, seeds=1, budget=12, level=None, links=False): faults on a real "
        "cluster; profile: kinds to draw from, seeds: how many, budget: seconds of drawn faults, "
        "links: lead connections through the proxy, for net.* and zk.cut",
    )
    config.addinivalue_line("markers", "conformance: a case of the conformance suite")
    check_settings(config)
    recorded = config.stash[RECORDED] = recorded_run(config)
    config.stash[NETWORK] = enter_network(
        given(config, "network"), recorded.cluster["network"] if recorded else ""
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with seeds is one test per seed, one with `conformance_case` one per case."""
    if CASE in metafunc.fixturenames:
        _generate_cases(metafunc)
    if SEED not in metafunc.fixturenames:
        return
    seeds = seeds_of(metafunc, metafunc.config.stash[RECORDED])
    if seeds is not None:
        metafunc.parametrize(SEED, seeds, ids=[f"seed-{seed}" for seed in seeds])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Markers are sound, and only the recorded test is left; raises `pytest.UsageError`."""
    for item in items:
        if item.get_closest_marker(MARKER):
            _check_mark(item)
    recorded = config.stash[RECORDED]
    if recorded is None or not items:
        return
    wanted = [item for item in items if item.nodeid == recorded.test]
    if not wanted:
        wanted = items[:1]
        told = f"{recorded.folder} is a run of {recorded.test}"
        refuse(wanted[0], f"{told}, which is not among the collected tests")
    config.hook.pytest_deselected(items=[item for item in items if item not in wanted])
    items[:] = wanted


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """What a worker had to refuse fails."""
    sentence = refused(item)
    if sentence:
        raise pytest.fail.Exception(sentence, pytrace=False)


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
        if RUN in item.stash and isinstance(error, pytest.skip.Exception):
            _forget(item)
        raise
    if RUN in item.stash:
        _end(item, None)


@pytest.fixture
def cluster(fencepost_run: "ChaosRun") -> "RunningCluster":
    """Brokers and a ZooKeeper that run, the topic `orders`, and clients at work on it."""
    return fencepost_run.cluster


@pytest.fixture
def faults(fencepost_run: "ChaosRun") -> "Faults":
    """`with faults.active(fault) as evidence:`, or `faults.run(story)`."""
    return fencepost_run.faults


@pytest.fixture
def quiet(fencepost_run: "ChaosRun") -> "QuietSpan":
    """`with quiet:` nothing goes wrong, and clients are served."""
    return fencepost_run.quiet


@pytest.fixture
def conformance_case(request: pytest.FixtureRequest) -> "ConformanceCase":
    """A case of the conformance suite; `conformance_case.play()` fails unless it passes."""
    from fencepost.conformance.suite.play import REFERENCE
    from fencepost.conformance.testing.suite_cases import ConformanceCase

    target = given(request.config, "target") or REFERENCE
    return ConformanceCase(case=request.param, target=target, out=bundles(request.config))


@pytest.fixture
def cluster_settings() -> "ClusterSettings":
    """How many brokers, with which times; a project may have its own fixture of this name."""
    from fencepost.conformance.adapters.settings import ClusterSettings

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
    from fencepost.conformance.adapters.errors import ChoiceError, ClusterError
    from fencepost.conformance.testing.run import ChaosRun, shown
    from fencepost.fault_injection.processes.managed_process import ProcessError
    from fencepost.spec.zookeeper import ZooKeeperError

    if why := request.config.stash[NETWORK].why_not:
        raise pytest.skip.Exception(why)
    try:
        run = ChaosRun(tested=_tested(request.node, fencepost_seed, cluster_settings))
    except (ChoiceError, ProcessError) as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    try:
        run.start()
    except (ClusterError, ProcessError, ZooKeeperError) as error:
        told = f"ERROR: no cluster to test: {error}\nbundle: {shown(run.folder)}"
        raise pytest.fail.Exception(told, pytrace=False) from None
    request.node.stash[RUN] = run
    yield run
    run.abandon()


def _generate_cases(metafunc: pytest.Metafunc) -> None:
    from fencepost.conformance.adapters.errors import ChoiceError
    from fencepost.conformance.testing.suite_cases import cases_of

    try:
        cases = cases_of(metafunc.config.getoption("--fencepost-profile"))
    except ChoiceError as error:
        raise pytest.UsageError(f"--fencepost-profile: {error}") from error
    metafunc.parametrize(CASE, cases, ids=[case.case_id for case in cases], indirect=True)


def _check_mark(item: pytest.Item) -> None:
    from fencepost.conformance.adapters.errors import ChoiceError

    try:
        mark_of(item)
    except ChoiceError as error:
        refuse(item, f"{item.nodeid}: {error}")


def _end(item: pytest.Item, error: BaseException | None) -> None:
    """The run is over; raises what the verdict asks for, or adds it to what the test raised."""
    from fencepost.conformance.testing.run import is_own, message_of
    from fencepost.conformance.verdict import Verdict

    run = item.stash[RUN]
    result = run.end(error)
    told = message_of(result, run.folder)
    if error is not None and not is_own(error):
        _add(error, told)
        return
    if result.verdict is Verdict.PASS:
        _forget(item)
        return
    is_undecided = result.verdict in (Verdict.VACUOUS, Verdict.INCONCLUSIVE)
    if result.verdict is Verdict.UNSUPPORTED or (is_undecided and is_skip(item.config)):
        raise pytest.skip.Exception(told) from None
    raise pytest.fail.Exception(told, pytrace=False) from None


def _forget(item: pytest.Item) -> None:
    """Remove the bundle of a run without a finding, unless all are kept."""
    if not keeps_all(item.config):
        shutil.rmtree(item.stash[RUN].folder, ignore_errors=True)


def _add(error: BaseException, told: str) -> None:
    if isinstance(error, pytest.fail.Exception):
        error.msg = f"{error.msg}\n{told}"
    else:
        error.add_note(told)


def _tested(item: pytest.Item, seed: int, settings: "ClusterSettings") -> "Tested":
    from fencepost.conformance.runs.run_settings import settings_of
    from fencepost.conformance.testing.run import Tested

    config = item.config
    chosen = {name: given(config, option) for name, option in CHOSEN.items()}
    mark, recorded, network = mark_of(item), config.stash[RECORDED], config.stash[NETWORK]
    network.require(settings.network)
    marked = f"-m {MARKER} " if item.get_closest_marker(MARKER) else ""
    doc = getattr(getattr(item, "function", None), "__doc__", None) or item.name
    return Tested(
        test=item.nodeid,
        name=item.name,
        sentence=doc.strip().splitlines()[0],
        seed=seed,
        settings=settings_of(
            {"network": network.name, **chosen},
            recorded.cluster if recorded else {},
            {"level": mark.level},
            usual=settings,
        ),
        mark=mark,
        out=bundles(config),
        again=f"pytest {marked}{shlex.quote(_node_id(item))} {REPLAY}",
        recorded=recorded,
    )


def _node_id(item: pytest.Item) -> str:
    """As a person types it here; that of pytest begins at the root of the tests."""
    file, separator, name = item.nodeid.partition("::")
    path = os.path.relpath(item.config.rootpath / file, item.config.invocation_params.dir)
    return f"{path}{separator}{name}"
