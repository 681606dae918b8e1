"""Scenarios in which a broker stands still, dies, or loses its session; and the drawn one."""

from collections.abc import Callable

from fencepost.conformance.adapters.cluster import ClusterError
from fencepost.conformance.runs.scenario import TOPIC, Scenario, ScenarioStage
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.process_faults import KillBroker, PauseBroker
from fencepost.fault_injection.faults.targets import CONTROLLER, leader
from fencepost.fault_injection.faults.zookeeper_faults import ExpireSession
from fencepost.fault_injection.stories.schedule import Schedule, TimedFault, generate

QUIET_REQUESTS = 300
QUIET_S = 30.0
SERVED_MEANWHILE = 1
"""Requests acknowledged while one of three brokers is away for twice its session; busy hosts serve
few."""
RANDOM_MS = 12_000
"""Length of the drawn schedule, its quiet tail included."""


def _longer_than_session(stage: ScenarioStage) -> int:
    return 2 * stage.cluster.session_timeout_ms


def _one(fault_of: Callable[[ScenarioStage], Fault]) -> Callable[[ScenarioStage], None]:
    """Inject one fault and wait until it is healed."""

    def play(stage: ScenarioStage) -> None:
        timed = TimedFault(fault_id="fault-1", at_ms=0, fault=fault_of(stage))
        stage.engine.run(Schedule(seed=stage.seed, faults=(timed,)))

    return play


def _nothing(stage: ScenarioStage) -> None:
    assert stage.workload is not None
    enough = stage.workload.await_acknowledged(QUIET_REQUESTS, QUIET_S)
    if not enough:
        raise ClusterError(f"{QUIET_REQUESTS} requests were not acknowledged in {QUIET_S:g} s")


def _drawn(stage: ScenarioStage) -> None:
    schedule = generate(
        stage.seed,
        brokers=stage.cluster.settings.broker_ids,
        duration_ms=RANDOM_MS,
        session_timeout_ms=stage.cluster.session_timeout_ms,
    )
    stage.engine.run(schedule)


SCENARIOS = (
    Scenario(
        name="quiet",
        sentence="Nothing goes wrong: whatever is found here is a false alarm.",
        requirements=("CLI-001", "CLI-004", "REPL-002", "REPL-009"),
        play=_nothing,
    ),
    Scenario(
        name="leader_pause",
        sentence="A leader stands still for longer than its session, wakes, and meets its heir.",
        requirements=("CMD-010", "FAIL-001", "ISR-004", "REPL-004"),
        during_min=SERVED_MEANWHILE,
        play=_one(
            lambda stage: PauseBroker(target=leader(TOPIC), for_ms=_longer_than_session(stage))
        ),
    ),
    Scenario(
        name="leader_kill",
        sentence="A leader dies and comes back on its data after another one has taken over.",
        requirements=("FAIL-001", "FAIL-004", "FAIL-008", "START-002"),
        during_min=SERVED_MEANWHILE,
        play=_one(
            lambda stage: KillBroker(
                target=leader(TOPIC), restart_after_ms=_longer_than_session(stage)
            )
        ),
    ),
    Scenario(
        name="session_expiry",
        sentence="ZooKeeper ends the session of a leader that lives and does not know it yet.",
        requirements=("CMD-010", "FAIL-001", "ZK-006"),
        play=_one(lambda _: ExpireSession(target=leader(TOPIC))),
    ),
    Scenario(
        name="controller_kill",
        sentence="The controller dies; another broker takes its place and leads what it led.",
        requirements=("CTL-002", "CTL-005", "CTL-009", "CTL-010"),
        during_min=SERVED_MEANWHILE,
        play=_one(
            lambda stage: KillBroker(
                target=CONTROLLER, restart_after_ms=_longer_than_session(stage)
            )
        ),
    ),
    Scenario(
        name="controller_pause",
        sentence="The controller stands still until another is elected; what it then does is void.",
        requirements=("CTL-006", "CTL-008", "CTL-013", "ZK-005"),
        during_min=SERVED_MEANWHILE,
        play=_one(lambda stage: PauseBroker(target=CONTROLLER, for_ms=_longer_than_session(stage))),
    ),
)

RANDOM = Scenario(
    name="random",
    sentence="Faults drawn from the seed hit brokers, sessions and requests.",
    requirements=("CLI-004", "FAIL-008", "REPL-004", "REPL-009"),
    play=_drawn,
)
