"""The options and settings of the plugin, and the one sentence that refuses a bad one."""

import shlex
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

import pytest

from fencepost.conformance.adapters.choices import AS_PROCESSES, EMBEDDED, PROXY, why_no_network

if TYPE_CHECKING:
    from fencepost.conformance.testing.bundle import RecordedTest

OUT = Path(".fencepost") / "tests"
"""Below the root of the tests."""
REPLAY = "--fencepost-replay"
SEED_ALONE = "--fencepost-seed"
UNDECIDED = ("fail", "skip")


def add_options(parser: pytest.Parser) -> None:
    """The options and settings are known."""
    group = parser.getgroup("fencepost", "Fencepost: faults on a real cluster")
    group.addoption(SEED_ALONE, type=int, metavar="N", help="run chaos tests with this seed alone")
    group.addoption(
        REPLAY,
        metavar="RUN",
        help="run the test of this bundle again, with its seed and the brokers that it hurt",
    )
    group.addoption(
        "--fencepost-out",
        metavar="DIR",
        help=f"keep the traces of all chaos runs here; else of failing ones, in {OUT}",
    )
    group.addoption(
        "--fencepost-target",
        metavar="TARGET",
        help="what is under test, as --target of fencepost chaos; the reference by default",
    )
    group.addoption(
        "--fencepost-zookeeper",
        metavar="WHICH",
        help="embedded (default), ensemble, or host:port/chroot of one that runs",
    )
    group.addoption(
        "--fencepost-network",
        metavar="WHICH",
        help="proxy (default), or namespaces: all tests run in a network of their own (root)",
    )
    group.addoption(
        "--fencepost-profile",
        metavar="NAME",
        default="core",
        help="the cases of the conformance suite for tests with conformance_case; core by default",
    )
    parser.addini("fencepost_network", "as --fencepost-network", default="")
    parser.addini("fencepost_target", "as --fencepost-target", default="")
    parser.addini("fencepost_zookeeper", "as --fencepost-zookeeper", default="")
    parser.addini(
        "fencepost_undecided",
        "what a vacuous or inconclusive chaos test does: fail (default) or skip",
        default="fail",
    )


def check_settings(config: pytest.Config) -> None:
    """Raise `pytest.UsageError` for what no test could be run with."""
    _check_paths(config)
    undecided = config.getini("fencepost_undecided")
    if undecided not in UNDECIDED:
        raise pytest.UsageError(
            f"fencepost_undecided is {undecided!r}; choose one of {', '.join(UNDECIDED)}"
        )
    seed: int | None = config.getoption(SEED_ALONE)
    if seed is not None and seed < 0:
        raise pytest.UsageError(f"{SEED_ALONE} is {seed}; give a whole number from 0 on")
    _check_out(config)
    target, zookeeper = given(config, "target"), given(config, "zookeeper")
    network = given(config, "network") or PROXY
    if why := why_no_network(network, zookeeper or EMBEDDED, options="--fencepost-"):
        raise pytest.UsageError(why)
    try:
        shlex.split(target)
    except ValueError as error:
        raise pytest.UsageError(f"--fencepost-target {target!r}: {error}") from error
    if zookeeper and zookeeper not in AS_PROCESSES:
        from fencepost.spec.zookeeper import ZooKeeperAddress, ZooKeeperError

        try:
            ZooKeeperAddress.parse(zookeeper)
        except ZooKeeperError as error:
            raise pytest.UsageError(f"{error}, or {' or '.join(AS_PROCESSES)}") from error


def _check_paths(config: pytest.Config) -> None:
    """Pytest looks for the root of the tests before it knows the plugin's options.

    A path elsewhere that follows one after a space would move that root.
    """
    words = config.invocation_params.args
    here = config.invocation_params.dir
    for option, value in pairwise(words):
        path = here / value.partition(" ")[0]
        is_ours = str(option).startswith("--fencepost-") and "=" not in str(option)
        if is_ours and path.exists() and not path.resolve().is_relative_to(here.resolve()):
            raise pytest.UsageError(
                f"write {option}={value} with an equals sign: after a space pytest takes a path "
                f"for one of the tests, and their root is {config.rootpath}"
            )


def _check_out(config: pytest.Config) -> None:
    """The folder that is named is there and takes files, or it is told before any cluster runs."""
    named: str | None = config.getoption("--fencepost-out")
    if named is None:
        return
    folder = config.invocation_params.dir / named
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise pytest.UsageError(
            f"--fencepost-out {named} takes no files: {error.strerror}; name another folder"
        ) from error


def given(config: pytest.Config, name: str) -> str:
    """What the command line says, or else the settings; empty when nothing does."""
    option: str | None = config.getoption(f"--fencepost-{name}")
    setting: str = config.getini(f"fencepost_{name}")
    return setting if option is None else option


def is_skip(config: pytest.Config) -> bool:
    """True when an undecided test is skipped and does not fail."""
    return bool(config.getini("fencepost_undecided") == "skip")


def keeps_all(config: pytest.Config) -> bool:
    """True when the bundles of tests that pass are kept too."""
    return config.getoption("--fencepost-out") is not None


def bundles(config: pytest.Config) -> Path:
    """The folder of all bundles; the default one is not for version control."""
    named: str | None = config.getoption("--fencepost-out")
    if named is not None:
        return config.invocation_params.dir / named
    folder = config.rootpath / OUT
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n")
    return folder


def recorded_run(config: pytest.Config) -> "RecordedTest | None":
    """The run that is to be run again; raises `pytest.UsageError`."""
    replay: str | None = config.getoption(REPLAY)
    if replay is None:
        return None
    if config.getoption(SEED_ALONE) is not None:
        raise pytest.UsageError(f"{REPLAY} takes the seed from the bundle; leave out {SEED_ALONE}")
    from fencepost.conformance.adapters.errors import ChoiceError
    from fencepost.conformance.testing.bundle import read_bundle

    try:
        return read_bundle(config.invocation_params.dir / replay)
    except ChoiceError as error:
        raise pytest.UsageError(f"{REPLAY}: {error}") from error
