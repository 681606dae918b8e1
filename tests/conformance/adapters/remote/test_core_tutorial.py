"""`docs/adapter_tutorial.md` shows what the tool prints, and the code of `broker_adapter.py`.

Each excerpt is made here by the part of the tool that prints it, without a ZooKeeper: an adapter is
asked for the verb that it lacks, and a step gets the answer that the mistake leads to.
"""

import ast
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pytest

from fencepost.conformance.adapters import cluster as cluster_module
from fencepost.conformance.adapters.cluster import ClusterUnderTest
from fencepost.conformance.adapters.implementation import Capability, Site
from fencepost.conformance.adapters.remote.adapter import Adapter
from fencepost.conformance.adapters.remote.channels import open_channel
from fencepost.conformance.adapters.remote.cluster import RemoteBrokers
from fencepost.conformance.adapters.remote.remote import greet
from fencepost.conformance.adapters.remote.skeleton import Language, new_adapter
from fencepost.conformance.adapters.remote.traces import TraceReader
from fencepost.conformance.adapters.remote.transport import RemoteTransport
from fencepost.conformance.checks.observations import OF_CLIENTS, Fidelity, Observable, lacks
from fencepost.conformance.clients.administrator import AdminClient
from fencepost.conformance.runs import running_cluster
from fencepost.conformance.runs.running_cluster import RunningCluster
from fencepost.conformance.scenarios import step_play
from fencepost.conformance.scenarios.step_play import ProcessStoryCluster
from fencepost.conformance.suite.claims import claim_of
from fencepost.conformance.suite.library import find_case, requirements
from fencepost.conformance.suite.play import SuitePlan
from fencepost.conformance.suite.records import CaseEnd, RequirementRecord, SuiteRun
from fencepost.conformance.verdict import Verdict
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.stories.steps.printed import printed_in
from fencepost.fault_injection.stories.steps.step_player import StepPlayer
from fencepost.spec.vocabulary import Invariant
from fencepost.spec.znodes import TopicPartition
from tests.conformance.adapters.remote.plays import ROOT
from tests.conformance.sites import site_at

PAGE = (ROOT / "docs" / "adapter_tutorial.md").read_text()
SOURCE = Path(__file__).with_name("broker_adapter.py").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
CODE = [block for language, block in BLOCKS if language == "py"]
SHOWN = [block.rstrip("\n") for language, block in BLOCKS if not language]
EXCERPTS = [block for block in SHOWN if not block.startswith("fencepost ")]
PROGRAM_LINES_MAX = 200
TARGET = "cmd:python3 my-adapter/adapter.py"
"""As the page has it."""
DECLARED = frozenset({Capability.PROCESSES, Capability.ZOOKEEPER})
BYE = "    def bye("
VIEW = '{"broker_ids": [1], "controller_id": 1, "partitions": []}'
LACKS = ("node_start", "metadata", "topic_create", "reassign", "trace_read")


def functions_of(program: str) -> set[str]:
    nodes = (node for node in ast.walk(ast.parse(program)) if isinstance(node, ast.FunctionDef))
    return set(map(ast.dump, nodes))


@pytest.mark.parametrize("block", CODE, ids=lambda block: block.split("(")[0].strip())
def test_the_code_of_the_page_is_that_of_the_adapter(block: str) -> None:
    assert functions_of(dedent(block)) <= functions_of(SOURCE)


def test_the_adapter_is_as_short_as_the_page_says() -> None:
    assert f"less than {PROGRAM_LINES_MAX} lines" in PAGE
    assert len(SOURCE.splitlines()) < PROGRAM_LINES_MAX


def without(verbs: tuple[str, ...]) -> str:
    """The adapter without these methods."""
    lines = SOURCE.splitlines(keepends=True)
    for node in ast.walk(ast.parse(SOURCE)):
        if isinstance(node, ast.FunctionDef) and node.name in verbs:
            assert node.end_lineno
            lines[node.lineno - 1 : node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    return "".join(lines)


@contextmanager
def site_in(folder: Path) -> Iterator[Site]:
    with Supervisor(folder / "processes", "tutorial") as supervisor:
        yield replace(site_at(folder, supervisor), zookeeper="127.0.0.1:1/none")


def error_of(act: Callable[[], object]) -> str:
    """What it raises, as people read it."""
    try:
        act()
    except Exception as error:
        return str(error)
    return "nothing was raised"


def asked(program: str, folder: Path, ask: Callable[[Adapter, Site], object]) -> str:
    """What is told when the adapter is asked."""
    path = folder / "adapter.py"
    path.write_text(program)
    words = ["env", f"PYTHONPATH={ROOT}", sys.executable, str(path)]
    with site_in(folder) as site:
        adapter = Adapter(open_channel(f"cmd:{shlex.join(words)}", site.supervisor))
        try:
            return error_of(lambda: ask(adapter, site))
        finally:
            adapter.close()


def of_skeleton(folder: Path) -> str:
    made = new_adapter(Language.PYTHON, folder / "my-adapter")
    path, name = made.files[0], '"name": "my-log"'
    declared = f'{name}, "capabilities": ["processes", "zookeeper"]'
    path.write_text(path.read_text().replace(name, declared))
    with site_in(folder) as site:
        return error_of(lambda: greet(made.target).open(site))


def of_verb(ask: Callable[[Adapter, Site], object], folder: Path, **answers: str) -> str:
    """With these answers to verbs that need a broker."""
    program = without(LACKS)
    for verb, answer in answers.items():
        program = program.replace(
            BYE, f"    def {verb}(self, _):\n        return {answer}\n\n{BYE}"
        )
    return asked(program, folder, ask)


def start(adapter: Adapter, site: Site) -> None:
    RemoteBrokers(adapter, site, DECLARED).start(1)


def view(adapter: Adapter, _: Site) -> None:
    RemoteTransport(adapter).connect("1", None).routing_view()  # type: ignore[arg-type]


def create(adapter: Adapter, _: Site) -> None:
    AdminClient(lambda: ["1"], RemoteTransport(adapter)).create_topic("ledger", [[1, 2]])


def move(adapter: Adapter, _: Site) -> None:
    """Ask as the step of `reassignment/move_completes` does."""
    hello = adapter.greeting
    implementation = SimpleNamespace(name=f"{hello.name} {hello.version}")
    cluster = SimpleNamespace(
        administrator=AdminClient(lambda: ["1"], RemoteTransport(adapter)),
        settings=SimpleNamespace(implementation=implementation),
    )
    steps: Any = SimpleNamespace(running=SimpleNamespace(cluster=cluster))
    steps._ask = partial(ProcessStoryCluster._ask, steps)
    step: Any = find_case("reassignment/move_completes").story.steps[2]
    ProcessStoryCluster._administer(steps, step)


def tell(adapter: Adapter, site: Site) -> None:
    TraceReader(adapter, site).close()


def of_step(case_id: str, index: int, printed: str) -> str:
    """What is told of a case in which that step prints this, and the others what they should."""
    story = find_case(case_id).story

    def perform(step: Any) -> list[str]:  # noqa: ANN401 - any step
        return [printed] if step is story.steps[index] else list(printed_in(step, "", ()))

    player = SimpleNamespace(perform=perform)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step_play, "StepPlayer", lambda *_: player)
        patch.setattr(step_play, "ProcessStoryCluster", lambda *_: SimpleNamespace())
        return error_of(lambda: step_play.play_steps(story, None, _unmet))  # type: ignore[arg-type]


def _unmet(sentence: str, since: float) -> None:
    raise AssertionError(sentence, since)


def of_creation(folder: Path) -> str:
    return of_step("topics/created_and_read", 0, of_verb(create, folder, metadata=VIEW))


def of_early_acknowledgement(_: Path) -> str:
    """The list of what is expected begins with what the reference answers."""
    return of_step("replication/acknowledged_means_replicated", 3, "ok offset=1")


def of_wrong_leader(_: Path) -> str:
    """The first broker is named as the leader, and it is dead."""
    never = SimpleNamespace(wait=lambda *_: False, broker_ids=(1, 2, 3))
    player: Any = StepPlayer(never, observed={"leader_at": lambda *_: 1})
    return "\n".join(player.perform(find_case("clients/new_leader_is_found").story.steps[5]))


def of_fenced_consumer(_: Path) -> str:
    """No consumer is served, and the time is over soon."""
    waiting = SimpleNamespace(_wait=SimpleNamespace(wait=lambda _: None), _last_words=lambda: "")
    cluster = SimpleNamespace(
        create_topic=lambda *_, **__: [TopicPartition("unread", 0)],
        await_state=partial(ClusterUnderTest.await_state, waiting),  # type: ignore[arg-type]
    )
    session = SimpleNamespace(transport=None, bootstrap=None)
    running: Any = SimpleNamespace(cluster=cluster, session=session, partitions=[])
    running.await_state = partial(RunningCluster.await_state, running)
    consumer = SimpleNamespace(fetch=lambda *_, **__: SimpleNamespace(is_ok=False))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster_module, "monotonic", count(0, 30).__next__)
        patch.setattr(running_cluster, "RoutedClient", lambda *_, **__: consumer)
        return error_of(lambda: RunningCluster.create_topic(running, "unread", [[1, 2]]))


def claimed(*cases: str, profile: str = "", observes: dict[Observable, Fidelity]) -> str:
    """What is claimed when every step of these cases is met."""
    select = () if profile else cases
    plan = SuitePlan(
        targets=(TARGET,), cases=tuple(map(find_case, cases)), profile=profile, select=select
    )
    catalogue, seen = requirements(), {**OF_CLIENTS, **observes}

    def verdict(requirement: str) -> Verdict:
        checks = [Invariant(check) for check in catalogue[requirement].checks]
        is_hidden = checks and all(lacks(check, seen) for check in checks)
        return Verdict.NOT_OBSERVABLE if is_hidden else Verdict.PASS

    records = [
        RequirementRecord(target=TARGET, case=case.case_id, requirement=one, verdict=verdict(one))
        for case in plan.cases
        for one in case.requirements
    ]
    ends = [CaseEnd(target=TARGET, case=case, verdict=Verdict.PASS) for case in cases]
    run = SuiteRun(
        folder=Path("run"), header=plan.header(), ends=tuple(ends), requirements=tuple(records)
    )
    return claim_of(run, TARGET).sentence


def of_hidden_requirement(_: Path) -> str:
    """Brokers tell nothing; what is in ZooKeeper is seen by itself."""
    observes = {Observable.STATE_WRITES: Fidelity.EXACT}
    return claimed("isr/dead_follower_leaves", observes=observes)


def of_claim(_: Path) -> str:
    observes = dict.fromkeys(Observable, Fidelity.EXACT)
    return claimed("isr/dead_follower_leaves", profile="core", observes=observes)


PRINTED: tuple[Callable[[Path], str], ...] = (
    of_skeleton,
    partial(of_verb, start),
    partial(of_verb, start, node_start="{}"),
    partial(of_verb, view),
    of_creation,
    of_early_acknowledgement,
    of_wrong_leader,
    of_fenced_consumer,
    partial(of_verb, move, metadata=VIEW),
    of_hidden_requirement,
    partial(of_verb, tell),
    of_claim,
)
"""What makes each excerpt, in the order of the page."""


@pytest.mark.long
@pytest.mark.parametrize(("excerpt", "make"), list(zip(EXCERPTS, PRINTED, strict=True)))
def test_an_excerpt_is_what_the_tool_prints(
    excerpt: str, make: Callable[[Path], str], tmp_path: Path
) -> None:
    assert excerpt in make(tmp_path)
