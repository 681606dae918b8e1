"""One chaos scenario from the start of its cluster to its verdict.

A run starts a cluster and clients, injects the scenario's faults, heals, waits until everything is
in sync, reads every partition in full, stops the cluster, adds what ZooKeeper wrote down, and only
then judges. What could not be played is reported beside what the checks found, and hides nothing.
"""

import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from shlex import quote
from time import monotonic, time
from typing import Any

from fencepost.conformance.adapters.capabilities import refusal
from fencepost.conformance.adapters.choices import EMBEDDED, OWN, PROXY
from fencepost.conformance.adapters.cluster import ClusterUnderTest
from fencepost.conformance.adapters.errors import ChoiceError, ClusterError, StepNotOfferedError
from fencepost.conformance.adapters.folders import Folders
from fencepost.conformance.adapters.implementation import Capability, RunSite
from fencepost.conformance.adapters.networks import switch_for, wiring_for
from fencepost.conformance.adapters.settings import ClusterSettings, unusual
from fencepost.conformance.adapters.zookeepers import ZooKeeperInUse, zookeeper_for
from fencepost.conformance.checks.observations import Observable, Observations
from fencepost.conformance.clients.recorder import TraceWriter
from fencepost.conformance.clients.workload import Session, Workload
from fencepost.conformance.runs.host_interference import (
    Heartbeat,
    Stall,
    lost_sessions,
    write_lost,
    write_stall,
)
from fencepost.conformance.runs.indefinite_outcomes import classify_outcomes
from fencepost.conformance.runs.judgement import judge_checks
from fencepost.conformance.runs.quiescence import WORK_S, QuiescenceWait
from fencepost.conformance.runs.run_folder import (
    read_folder,
    read_run_folder,
    traced_run,
    write_observed,
)
from fencepost.conformance.runs.run_settings import settings_for
from fencepost.conformance.runs.running_cluster import RunningCluster
from fencepost.conformance.runs.scenario import Problem, RunRecord, Scenario, ScenarioResult
from fencepost.conformance.scenarios.step_play import UnexpectedError, play_steps
from fencepost.conformance.verdict import Verdict
from fencepost.fault_injection.engine.driver import FaultDriver
from fencepost.fault_injection.engine.process_world import ProcessWorld
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.network.namespaces.links import NamespaceLinks
from fencepost.fault_injection.processes.ledger import Ledger
from fencepost.fault_injection.processes.managed_process import ProcessError
from fencepost.fault_injection.processes.supervisor import LEDGER_FILE, Supervisor
from fencepost.fault_injection.processes.trace_tail import TraceTail
from fencepost.fault_injection.stories.story import ClientLoad, Story
from fencepost.fault_injection.stories.story_file import as_document
from fencepost.fault_injection.stories.story_record import (
    write_executed,
    write_expanded,
    write_source,
)
from fencepost.fault_injection.stories.story_world import TOPIC, assignment_among
from fencepost.fault_injection.zookeeper.transaction_log import Transaction
from fencepost.spec.trace import Kind, Phase, TraceEvent
from fencepost.spec.vocabulary import Ending, Outcome
from fencepost.spec.zookeeper import ZooKeeperError


@dataclass(slots=True, kw_only=True)
class ScenarioRun:
    """One scenario at one level with one seed.

    `play` does all of it. A caller that does something else with the cluster enters `running` and
    then calls `judge`.
    """

    scenario: Scenario
    settings: ClusterSettings
    seed: int
    folder: Path
    again: str = ""
    """The command that runs the same again, when `fencepost chaos --story` does not."""
    told: Mapping[str, object] = field(default_factory=dict)
    """What the trace says of the run besides what it says of every run."""
    unexpected: Verdict = Verdict.INCONCLUSIVE
    """What the run is worth when a step prints something else than the story says."""
    run_id: str = field(init=False)
    record: RunRecord = field(init=False, default_factory=RunRecord)
    went_otherwise: bool = field(init=False, default=False)
    """True when it has failed by a step: what heals afterwards is not waited for."""
    _started: float = field(init=False, default_factory=monotonic)
    _ended_ms: int | None = field(init=False, default=None)
    _first_controller: int = field(init=False, default=1)
    """The broker that was controller before anything happened, and is it in a replay; 0: none."""

    def __post_init__(self) -> None:
        self.run_id = f"{self.scenario.name}-{self.settings.level}-{secrets.token_hex(4)}"
        self.settings = settings_for(self.scenario, self.settings)
        self.scenario = self.scenario.on(self.settings, self.seed)

    @property
    def reproduce(self) -> str:
        """The command that runs the same again."""
        if self.again:
            return self.again
        what = self.scenario.again or f"--story {self.scenario.name}"
        command = f"fencepost chaos {what} --seed {self.seed} --level {self.settings.level}"
        command += self.settings.implementation.again
        if {self.settings.network, self.scenario.network} != {PROXY}:
            command += f" --network {self.settings.network}"
        if self.settings.zookeeper == self.scenario.story.cluster.get("zookeeper", EMBEDDED):
            return command
        return f"{command} --zookeeper {quote(self.settings.zookeeper)}"

    def play(self) -> ScenarioResult:
        """Run the scenario and judge it; its traces are in the folder.

        Raises `ChoiceError` when the folder is there already. A scenario that needs what the
        implementation does not declare, or a higher level, is `UNSUPPORTED`, and not begun.
        """
        why = refusal(self.settings.implementation, self.scenario.needs)
        if why := why or self.scenario.level_refusal(*self.settings.level_among):
            problem = Problem(verdict=Verdict.UNSUPPORTED, sentence=why)
            return self._result(Verdict.UNSUPPORTED, Verdict.UNSUPPORTED, [problem])
        try:
            with self.running() as stage:
                self.perform(stage)
        except (ClusterError, ZooKeeperError, ProcessError) as error:
            self.record.add(Verdict.ERROR, str(error))
        return self.judge()

    @contextmanager
    def running(self) -> Iterator[RunningCluster]:
        """The cluster runs and clients are at work; afterwards all is healed, read and stopped.

        An exception of the body ends it at once: what is active is healed, and nothing is waited
        for. Raises `ChoiceError` when the folder is there already, and `ClusterError`,
        `ZooKeeperError` or `ProcessError` when the cluster does not come up.
        """
        try:
            self.folder.mkdir(parents=True)
        except FileExistsError as error:
            raise ChoiceError(f"{self.folder} is there already; name a new folder") from error
        folders = Folders(root=self.folder)
        with Supervisor(folders.processes, self.run_id) as supervisor:
            switch = switch_for(self.settings.network, supervisor)
            with self._zookeeper(supervisor, switch) as zookeeper, self._traced() as harness:
                wiring = wiring_for(
                    supervisor,
                    switch=switch,
                    needs_links=self.scenario.leads_connections(self.settings.implementation),
                    zookeeper=zookeeper.address,
                    broker_ids=self.settings.broker_ids,
                    protocol=self.settings.implementation.wire_protocol,
                )
                cluster = ClusterUnderTest(
                    self.settings,
                    folder=self.folder,
                    run_id=self.run_id,
                    supervisor=supervisor,
                    zookeeper=zookeeper,
                    wiring=wiring,
                )
                with cluster.running(), self._clients_of(cluster, harness) as stage:
                    yield stage
                self._note_lost_sessions(harness)
                self._write_observed(zookeeper.transactions())

    def _write_observed(self, transactions: Sequence[Transaction] | None) -> None:
        """Write what the state and its brokers left behind."""
        site = RunSite(
            folder=self.folder,
            run_id=self.run_id,
            broker_ids=self.settings.broker_ids,
            unclean_leader_election=self.settings.unclean_leader_election,
            ended_ms=self._ended_ms,
        )
        write_observed(self.settings.implementation, site, transactions)

    def _zookeeper(
        self, supervisor: Supervisor, switch: NamespaceLinks | None
    ) -> AbstractContextManager[ZooKeeperInUse]:
        """The ZooKeeper of the run; none for an implementation that has its state elsewhere."""
        if Capability.ZOOKEEPER not in self.settings.implementation.capabilities:
            return nullcontext(ZooKeeperInUse(address=""))
        return zookeeper_for(
            self.run_id,
            supervisor=supervisor,
            folder=self.folder,
            choice=self.settings.zookeeper,
            switch=switch,
        )

    @contextmanager
    def _traced(self) -> Iterator[TraceWriter]:
        """The harness's own trace, which also tells when the host stalls."""
        takes_it = Capability.MIN_INSYNC_REPLICAS in self.settings.implementation.capabilities
        with (
            traced_run(
                self.folder,
                self.run_id,
                begun=self._description(),
                ending=self._ending,
                min_insync_replicas=self.settings.min_insync_replicas if takes_it else None,
            ) as harness,
            Heartbeat(partial(self._note_stall, harness)),
        ):
            yield harness

    def _note_stall(self, harness: TraceWriter, stall: Stall) -> None:
        self.record.interference.stalls.append(stall)
        write_stall(harness, stall)

    def _note_lost_sessions(self, harness: TraceWriter) -> None:
        """Record sessions lost to the host; what they may have caused decides nothing."""
        of_brokers = read_folder(self.folder, "broker-*")[0]
        of_harness = read_folder(self.folder, "harness")[0]
        timeout_ms = self.settings.session_timeout_ms
        lost = lost_sessions(of_brokers, of_harness, session_timeout_ms=timeout_ms)
        self.record.interference.lost.extend(lost)
        for one in lost:
            write_lost(harness, one)
        self.record.excuse()

    def _description(self) -> dict[str, object]:
        return {
            "level": self.settings.level,
            "judged_level": self.settings.judged_level,
            "seed": self.seed,
            "brokers": self.settings.brokers,
            "scenario": self.scenario.name,
            "network": self.settings.network,
            "zookeeper": self.settings.zookeeper,
            "observes": dict(self._observed),
            "unclean_leader_election": self.settings.unclean_leader_election,
            "reproduce": self.reproduce,
            **self.settings.implementation.told,
            **self.told,
        }

    def _ending(self) -> dict[str, object]:
        executed = self.record.executed
        return {
            "executed": as_document(executed) if executed else None,
            "problems": [problem.sentence for problem in self.record.problems],
            **self.record.ending,
        }

    @contextmanager
    def _clients_of(
        self, cluster: ClusterUnderTest, harness: TraceWriter
    ) -> Iterator[RunningCluster]:
        """Clients are at work; afterwards every partition has been read to its end."""
        cluster.recorder = harness
        session = Session(
            folder=self.folder,
            run_id=self.run_id,
            bootstrap=partial(_addresses, cluster),
            transport=cluster.transport,
            workload_transport=cluster.workload_transport,
            clock=harness.clock,
        )
        first = cluster.state.controller()
        self._first_controller = first if first in self.settings.broker_ids else 0
        world = ProcessWorld(
            target=cluster,
            ledger=Ledger(Folders(root=self.folder).processes / LEDGER_FILE),
            on_phase=lambda line: self._note_phase(stage, harness, line),
            traces=TraceTail(self.folder),
        )
        stage = RunningCluster(
            cluster=cluster,
            engine=FaultDriver(world),
            session=session,
            partitions=[],
            seed=self.seed,
        )
        try:
            with self._at_work(stage):
                yield stage
            self.aftermath(stage).read_everything()
        finally:
            self._ended_ms = int(time() * 1000)
            session.close()

    def aftermath(self, stage: RunningCluster) -> QuiescenceWait:
        """What is waited for when the scenario is over."""
        return QuiescenceWait(stage=stage, record=self.record, story=self.scenario.story)

    @contextmanager
    def _at_work(self, stage: RunningCluster) -> Iterator[None]:
        """The workload runs; afterwards everything is healed and the clients work again."""
        profile = self.scenario.story.profile
        if profile is not ClientLoad.NONE:
            assignment = assignment_among(self.settings.broker_ids)
            stage.partitions.extend(stage.cluster.create_topic(TOPIC, assignment))
            stage.workload = Workload(stage.session, stage.partitions, seed=self.seed)
            stage.workload.in_flight = profile.in_flight
            stage.workload.configures = self.settings.has_redirected_mutations(self.scenario.story)
            stage.workload.start()
            stage.cluster.workload = stage.workload
        try:
            with stage.engine:
                self._warm_up(stage)
                yield
                stage.engine.heal_all()
                if not self.went_otherwise:
                    aftermath = self.aftermath(stage)
                    aftermath.await_health()
                    aftermath.await_service()
        finally:
            self._end_faults(stage)

    def _note_phase(
        self, stage: RunningCluster, harness: TraceWriter, line: dict[str, Any]
    ) -> None:
        """It is in the trace, and what a role resolved to in the expanded story."""
        harness.write(**line)
        if line["phase"] is Phase.INJECTING:
            write_expanded(self.folder, self._source(stage), stage.engine.running())

    def _source(self, stage: RunningCluster) -> Story:
        """The story, or what a function in its place has asked for so far."""
        story = self.scenario.story
        if self.scenario.play is None:
            return story
        return replace(
            story,
            seed=self.seed,
            actions=tuple(running.action for running in stage.engine.running()),
            origin={"kind": "script", "scenario": story.story_id},
        )

    def _write_stories(self, stage: RunningCluster) -> None:
        """As it was meant, as it was resolved, and as it was executed."""
        source, faults = self._source(stage), stage.engine.running()
        origin = {
            "kind": "executed",
            "run": self.run_id,
            "level": self.settings.level,
            "network": self.settings.network,
            **self.settings.implementation.told,
            "of": dict(source.origin),
        }
        write_source(self.folder, source)
        write_expanded(self.folder, source, faults)
        cluster = {
            **unusual(self.settings),
            **source.cluster,
            "first_controller": self._first_controller,
        }
        executed = replace(source, origin=origin, cluster=cluster)
        of_actions = [] if source.steps else faults
        write_executed(self.folder, executed, of_actions, offset_ms=stage.engine.offset_ms)

    def _warm_up(self, stage: RunningCluster) -> None:
        floor = self.scenario.story.floors.before
        if stage.workload and not stage.workload.await_acknowledged(floor, WORK_S):
            raise ClusterError(f"no {floor} requests were acknowledged in {WORK_S:g} s")

    def perform(self, stage: RunningCluster) -> None:
        """Play the scenario; what could not be played, or went otherwise, is in the record."""
        since = monotonic()
        try:
            if self.scenario.play is not None:
                self.scenario.play(stage)
            elif self.scenario.story.steps:
                play_steps(self.scenario.story, stage, self._note_unmet)
            else:
                stage.engine.run(self.scenario.story)
        except UnexpectedError as error:
            told = f"the story went otherwise: {error}"
            self.went_otherwise = self.unexpected is Verdict.FAIL
            self.record.add_unexpected(self.unexpected, told, since, is_late=error.is_late)
        except StepNotOfferedError as error:
            self.record.add(Verdict.UNSUPPORTED, str(error))
        except (ClusterError, InjectionError) as error:
            self.record.add(Verdict.INCONCLUSIVE, f"the scenario could not be played: {error}")

    def _note_unmet(self, sentence: str, since: float) -> None:
        self.record.add_missed(sentence, since, Ending.DEMANDS)

    def _end_faults(self, stage: RunningCluster) -> None:
        self.record.faults = tuple(stage.engine.reports())
        self.record.executed = stage.engine.executed(self.seed)
        if stage.workload is not None:
            stage.workload.stop()
        self.record.judge_faults(stage.workload, self.scenario.story.floors)
        self._write_stories(stage)

    def judge(self) -> ScenarioResult:
        """What the traces in the folder and the problems of the run are worth."""
        events, doubts = read_run_folder(self.folder)
        for doubt in doubts:
            self.record.add(Verdict.INCONCLUSIVE, doubt)
        result = self.judge_events(events)
        if result.verdict is Verdict.PASS:
            self.remove_data()
        return result

    def judge_events(self, events: Sequence[TraceEvent]) -> ScenarioResult:
        """What these events and the problems of the run are worth."""
        for contradiction in self.settings.implementation.contradictions(events):
            self.record.add(Verdict.ERROR, contradiction)
        outcomes = classify_outcomes(
            events,
            has_transactions=Observable.STATE_WRITES in self._observed,
            has_appends=Observable.APPENDS in self._observed,
        )
        self.record.judge_outcomes(outcomes)
        checks, verdict = judge_checks(
            events, self.record, self._observed, self.settings.implementation.trace_dialect
        )
        return replace(
            self._result(verdict, self._expected(), self.record.problems),
            checks=checks,
            faults=self.record.faults,
            floors=self.record.floors,
            indefinite_outcomes=outcomes,
            interference=self.record.interference.sentences,
            events=len(events),
            acknowledged=sum(map(_is_acknowledgement, events)),
            seconds=monotonic() - self._started,
        )

    def _result(
        self, verdict: Verdict, expected: Verdict, problems: Sequence[Problem]
    ) -> ScenarioResult:
        return ScenarioResult(
            name=self.scenario.name,
            sentence=self.scenario.sentence,
            requirements=self.scenario.story.requirements,
            level=self.settings.level,
            seed=self.seed,
            run_id=self.run_id,
            verdict=verdict,
            expected=expected,
            problems=tuple(problems),
            folder=self.folder.name,
            reproduce=self.reproduce,
        )

    def _expected(self) -> Verdict:
        is_broken = bool(self.settings.implementation.broken_rule)
        return Verdict.FAIL if is_broken else self.scenario.expected(*self.settings.level_among)

    @property
    def _observed(self) -> Observations:
        """What the trace of this run shows: only a ZooKeeper of ours has a log to read."""
        observed = dict(self.settings.implementation.observes)
        if self.settings.zookeeper not in OWN:
            observed.pop(Observable.STATE_WRITES, None)
        return observed

    def remove_data(self) -> None:
        """Of a run that passed, the traces and logs are enough."""
        folders = Folders(root=self.folder)
        data = [folders.data(broker_id) for broker_id in self.settings.broker_ids]
        for folder in (*data, folders.zookeeper, folders.metadata):
            shutil.rmtree(folder, ignore_errors=True)


def run(
    scenario: Scenario,
    *,
    settings: ClusterSettings,
    seed: int,
    folder: Path,
) -> ScenarioResult:
    """One scenario from the start of its cluster to its verdict, in a new folder.

    Everything that runs on a cluster of its own calls this. Raises `ChoiceError` when the folder is
    there already.
    """
    return ScenarioRun(scenario=scenario, settings=settings, seed=seed, folder=folder).play()


def _is_acknowledgement(event: TraceEvent) -> bool:
    return (
        event.kind is Kind.COMPLETE
        and event.action == "Produce"
        and event.outcome is Outcome.OK
        and event.acks == -1
    )


def _addresses(cluster: ClusterUnderTest) -> list[str]:
    """A client that cannot look up brokers has no leader; that is no defect of the client."""
    try:
        return cluster.addresses()
    except ZooKeeperError:
        return []
