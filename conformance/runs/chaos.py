"""Chaos scenarios on real processes under a real ZooKeeper: which to run, and where."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from fencepost.conformance.adapters.choices import PROXY
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.networks import require_network, why_proxy
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.adapters.zookeepers import require_zookeeper
from fencepost.conformance.runs.scenario import Scenario, ScenarioResult
from fencepost.conformance.runs.scenario_run import run
from fencepost.conformance.scenarios import SCENARIOS
from fencepost.conformance.scenarios.find_story import find_story
from fencepost.conformance.verdict import Verdict

UNDECIDED = frozenset({Verdict.VACUOUS, Verdict.INCONCLUSIVE})
"""Verdicts that another run may decide."""

Progress = Callable[[int, int, str], None]
"""Called with what is done, what there is to do, and what happens now."""

View = Callable[[ScenarioResult], ScenarioResult]
"""What a result is to those that run it: it may be known to end so."""


def as_it_is(result: ScenarioResult) -> ScenarioResult:
    """Nothing is known of it."""
    return result


class ChaosInterrupted(KeyboardInterrupt):
    """The person, or the machine, wants an end; what was judged before is whole."""

    def __init__(self, judged: Sequence[ScenarioResult], left: Sequence[str]) -> None:
        super().__init__()
        self.judged = tuple(judged)
        self.left = tuple(left)
        """The names of the scenarios that were not judged; the first had begun."""


def selected(stories: Sequence[str] = (), network: str = PROXY) -> list[Scenario]:
    """The stories of these names and files, each once; without any, all that the network can have.

    Raises `ChoiceError`.
    """
    if not stories:
        return [one for one in SCENARIOS.values() if network == PROXY or not why_proxy(one)]
    found = [find_story(given) for given in dict.fromkeys(stories)]
    ids = Counter(scenario.name for scenario in found)
    if twice := [name for name, times in ids.items() if times > 1]:
        raise ChoiceError(f"two stories have the id {twice[0]!r}; give one, or rename one")
    return found


def run_all(
    scenarios: Sequence[Scenario],
    *,
    settings: ClusterSettings,
    out: Path,
    seed: int | None = None,
    on_progress: Progress | None = None,
    seen_as: View = as_it_is,
) -> tuple[ScenarioResult, ...]:
    """Run the scenarios one after the other, each in its own folder below `out`.

    One that decided nothing, as on a busy machine, is run once more on a fresh cluster, and the
    result tells of both; one that fails is never run again. Without a seed each has its own. In
    network namespaces, this process must be in a network of its own already. Raises `ChoiceError`
    before anything starts when the network or the address is wrong, and `ZooKeeperError` when
    nothing answers at the address; an interruption becomes `ChaosInterrupted`.
    """
    require_network(settings, scenarios)
    require_zookeeper(settings.zookeeper)
    results: list[ScenarioResult] = []
    try:
        for done, scenario in enumerate(scenarios):
            if on_progress:
                on_progress(done, len(scenarios), scenario.name)
            results.append(seen_as(_decided(scenario, settings=settings, seed=seed, out=out)))
        if on_progress:
            on_progress(len(scenarios), len(scenarios), "done")
    except KeyboardInterrupt as error:
        left = [scenario.name for scenario in scenarios[len(results) :]]
        raise ChaosInterrupted(results, left) from error
    return tuple(results)


def _decided(
    scenario: Scenario, *, settings: ClusterSettings, seed: int | None, out: Path
) -> ScenarioResult:
    """How it ended, the second time where the first decided nothing."""
    chosen = scenario.story.seed if seed is None else seed
    result = run(scenario, settings=settings, seed=chosen, folder=out / scenario.name)
    if result.verdict not in UNDECIDED:
        return result
    again = run(scenario, settings=settings, seed=chosen, folder=out / f"{scenario.name}-again")
    return replace(again, earlier=f"{result.verdict} in {result.folder}: {result.why}")
