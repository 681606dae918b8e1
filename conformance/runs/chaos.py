"""Chaos scenarios on real processes under a real ZooKeeper: which to run, and where."""

from collections.abc import Callable, Sequence
from pathlib import Path

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.networks import require_network
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.adapters.zookeepers import EMBEDDED, OWN
from fencepost.conformance.runs.scenario import Scenario, ScenarioResult
from fencepost.conformance.runs.scenario_run import ScenarioRun
from fencepost.conformance.scenarios import SCENARIOS, find
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.spec.zookeeper import ZooKeeperAddress, ZooKeeperError

ANSWER_S = 5.0
"""How long an external ZooKeeper may take to answer at all."""

Progress = Callable[[int, int, str], None]
"""Called with what is done, what there is to do, and what happens now."""


def run_scenarios(
    names: Sequence[str] = (),
    *,
    settings: ClusterSettings,
    seed: int,
    out: Path,
    zookeeper: str = EMBEDDED,
    on_progress: Progress | None = None,
) -> tuple[ScenarioResult, ...]:
    """Run the named scenarios, or all, one after the other; each in its own folder below `out`.

    A name that is given twice is run once.

    Raises `ChoiceError` before anything starts when a name or the address is wrong, and
    `ZooKeeperError` when nothing answers at the address.
    """
    scenarios = [find(name) for name in dict.fromkeys(names)] if names else list(SCENARIOS.values())
    return play_all(
        scenarios,
        settings=settings,
        seed=seed,
        out=out,
        zookeeper=zookeeper,
        on_progress=on_progress,
    )


def play_all(
    scenarios: Sequence[Scenario],
    *,
    settings: ClusterSettings,
    seed: int | None,
    out: Path,
    zookeeper: str = EMBEDDED,
    on_progress: Progress | None = None,
) -> tuple[ScenarioResult, ...]:
    """As `run_scenarios`, of scenarios that need not be in the list; without seed, their own.

    In network namespaces, this process must be in a network of its own already.
    """
    require_network(settings.network, scenarios, zookeeper)
    _require_zookeeper(zookeeper)
    results: list[ScenarioResult] = []
    for done, scenario in enumerate(scenarios):
        if on_progress:
            on_progress(done, len(scenarios), scenario.name)
        folder = out / scenario.name
        run = ScenarioRun(
            scenario=scenario,
            settings=settings,
            seed=scenario.story.seed if seed is None else seed,
            folder=folder,
            zookeeper=zookeeper,
        )
        results.append(run.play())
    if on_progress:
        on_progress(len(scenarios), len(scenarios), "done")
    return tuple(results)


def run_scenario(
    name: str,
    *,
    level: int,
    seed: int,
    out: Path,
    zookeeper: str = EMBEDDED,
    on_progress: Progress | None = None,
) -> ScenarioResult:
    """As `run_scenarios`, of one."""
    settings = ClusterSettings(level=level)
    (result,) = run_scenarios(
        [name], settings=settings, seed=seed, out=out, zookeeper=zookeeper, on_progress=on_progress
    )
    return result


def _require_zookeeper(zookeeper: str) -> None:
    if zookeeper in OWN:
        return
    try:
        servers = ZooKeeperAddress.parse(zookeeper).servers
    except ZooKeeperError as error:
        raise ChoiceError(f"{error}, or {' or '.join(OWN)}") from error
    with ZooKeeperClient(servers, deadline_s=ANSWER_S):
        pass
