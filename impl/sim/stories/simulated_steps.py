"""The steps that only a simulator can do, and the player of all steps on a simulated run."""

from collections.abc import Sequence
from functools import partial

from msgspec import UnsetType, structs

from fencepost.fault_injection.stories.steps import story_step as steps
from fencepost.fault_injection.stories.steps.config_step import (
    CreateTokenStep,
    DescribeTokenStep,
    ExpireTokenStep,
    RenewTokenStep,
)
from fencepost.fault_injection.stories.steps.observation import partition_of
from fencepost.fault_injection.stories.steps.step_player import (
    PERFORMED,
    StepPlayer,
    StepTable,
    administer,
    begin,
    broker_of,
    show_results,
)
from fencepost.fault_injection.stories.steps.story_cluster import Lines
from fencepost.fault_injection.stories.steps.znode_contents import not_held
from fencepost.fault_injection.stories.story_refusal import StoryError
from fencepost.impl.core.types.config_messages import DescribeMutationQuotasRequest
from fencepost.impl.core.types.effects import WriteZnodes
from fencepost.impl.core.types.messages import (
    InitProducerIdRequest,
    ListPartitionReassignmentsRequest,
    MetadataRequest,
    Request,
    Response,
)
from fencepost.impl.core.types.zookeeper import Create, Delete, Rejected, SetData
from fencepost.impl.sim.engine.run import FINAL_READ_MS, SimulatedRun
from fencepost.impl.sim.stepped.replay import replay
from fencepost.impl.sim.stepped.schedule import SCHEDULES, read_schedule
from fencepost.impl.sim.stories.look import (
    SIMULATED_OBSERVATIONS,
    show_log,
    show_state,
    show_told,
)
from fencepost.impl.sim.stories.story_cluster import (
    Judge,
    Player,
    VirtualStoryCluster,
    unjudged,
    writes,
)
from fencepost.impl.sim.world.clients import FinalReader
from fencepost.impl.sim.world.network import RequestRule
from fencepost.impl.sim.world.process import Process
from fencepost.impl.sim.world.workload import break_connections, start_clients
from fencepost.spec.vocabulary import ANY_VERSION, BrokerId

ANY = -1
"""Any sender, any receiver of a `RequestRule`."""


def story_player(simulated: SimulatedRun, judge: Judge = unjudged) -> Player:
    """The player of steps on this run, of which nothing has been played."""
    cluster = VirtualStoryCluster(simulated, judge)
    return StepPlayer(cluster, SIMULATED_STEPS, SIMULATED_OBSERVATIONS)


# ZooKeeper


def _disconnect(player: Player, step: steps.DisconnectStep) -> Lines:
    """The broker has no connection to ZooKeeper, for a time or until `connect`."""
    process = player.cluster.live_process(broker_of(player.cluster, step.disconnect))
    process.zookeeper.is_cut = True
    process.zookeeper.break_connection()
    if step.for_ms:
        player.cluster.later(step.for_ms, partial(_reconnect, process))
    return []


def _connect(player: Player, step: steps.ConnectStep) -> Lines:
    """The broker may connect to ZooKeeper again."""
    _reconnect(player.cluster.live_process(broker_of(player.cluster, step.connect)))
    return []


def _reconnect(process: Process) -> None:
    process.zookeeper.is_cut = False


def _lose_reply(player: Player, step: steps.LoseReplyStep) -> Lines:
    """The next write to such a path is done, and its reply lost."""
    process = player.cluster.live_process(broker_of(player.cluster, step.lose_reply))
    zookeeper = process.zookeeper
    usual = zookeeper.loses_reply

    def loses(ask: WriteZnodes) -> bool:
        if not writes(ask, step.path):
            return usual(ask)
        zookeeper.loses_reply = usual
        if step.for_ms:
            zookeeper.is_cut = True
            player.cluster.later(step.for_ms, partial(_reconnect, process))
        return True

    zookeeper.loses_reply = loses
    return []


def _break_connections(player: Player, _: steps.BreakConnectionsStep) -> Lines:
    break_connections(player.cluster.world)
    return []


def _delete_znode(player: Player, step: steps.DeleteZnodeStep) -> Lines:
    path = step.delete_znode
    if player.cluster.world.zookeeper.peek(path).stat is None:
        raise StoryError(f"there is no znode {path}")
    return _write(player, step, Delete(path=path, expected_version=ANY_VERSION))


def _create_znode(player: Player, step: steps.CreateZnodeStep) -> Lines:
    return _write(player, step, Create(path=step.create_znode, data=step.data.encode()))


def _set_znode(player: Player, step: steps.SetZnodeStep) -> Lines:
    data = step.data.encode()
    return _write(
        player, step, SetData(path=step.set_znode, data=data, expected_version=ANY_VERSION)
    )


def _znode(player: Player, step: steps.ZnodeStep) -> Lines:
    found = player.cluster.world.zookeeper.peek(step.znode)
    if found.stat is None:
        return not_held(step, None, is_ephemeral=False)
    return not_held(step, found.data, is_ephemeral=bool(found.stat.ephemeral_owner))


def _write(player: Player, step: steps.StoryStep, op: Create | Delete | SetData) -> Lines:
    """Write a znode in a session that no broker has, as an operator does."""
    result = player.cluster.world.write_by_hand(op)
    if isinstance(result, Rejected):
        raise StoryError(f"ZooKeeper refuses to {steps.verb_of(step)} {op.path}: {result.error}")
    return []


# Messages


RULES = {
    "hold_request": "hold",
    "drop_request": "drop_request",
    "hold_response": "hold_response",
    "drop_response": "drop_response",
}
"""Verb -> that of the `RequestRule`."""


def _add_rule(player: Player, step: steps.RequestsStep) -> Lines:
    """Every request that the step describes obeys it."""
    verb = steps.verb_of(step)
    rule = _rule(player, step, getattr(step, verb), RULES[verb])
    player.cluster.rules.append(rule)
    player.cluster.world.network.rules.append(rule)
    return []


def _deliver(player: Player, step: steps.DeliverStep) -> Lines:
    """What is held arrives now, in order; nothing more is held unless the step keeps the rules."""
    rules = _rules_for(player, step, step.deliver)
    if not step.keep:
        _remove(player, rules)
    for rule in rules:
        _release(rule)
    return []


def _lift(player: Player, step: steps.LiftStep) -> Lines:
    """The rules end; what they hold is lost."""
    _remove(player, _rules_for(player, step, step.lift))
    return []


def _rule(
    player: Player, step: steps.RequestsStep, method: str | None, verb: str = ""
) -> RequestRule:
    """What a step says of requests; raises `StoryError`."""
    given = (step.sender, step.receiver)
    sender, receiver = (
        ANY if isinstance(one, UnsetType) else broker_of(player.cluster, one) for one in given
    )
    return RequestRule(
        method="" if method in (None, "any") else str(method),
        sender=sender,
        receiver=receiver,
        topic=step.topic,
        verb=verb,
        count=step.count,
    )


def _rules_for(player: Player, step: steps.RequestsStep, method: str | None) -> list[RequestRule]:
    """The active rules that a step describes."""
    wanted = _rule(player, step, method)
    return [
        rule
        for rule in player.cluster.rules
        if wanted.method in ("", rule.method)
        and wanted.sender in (ANY, rule.sender)
        and wanted.receiver in (ANY, rule.receiver)
    ]


def _remove(player: Player, rules: Sequence[RequestRule]) -> None:
    for rule in rules:
        player.cluster.rules.remove(rule)
        player.cluster.world.network.rules.remove(rule)


def _release(rule: RequestRule) -> None:
    """What the rule holds arrives, in order."""
    held, rule.held = rule.held, []
    for deliver in held:
        deliver()


# Clients, and the end

ASKED_FOR: dict[str, Request] = {
    "moves": ListPartitionReassignmentsRequest(),
    "metadata": MetadataRequest(),
    "producer_id": InitProducerIdRequest(),
    "quotas": DescribeMutationQuotasRequest(),
}
"""Page of `show` -> what a broker is asked for."""


def _retry(player: Player, step: steps.RetryStep) -> Lines:
    """Send the last produce of a numbered producer to the partition again, as it was."""
    key = partition_of(step.retry)
    to = player.cluster.asked(step.broker, key)
    return begin(player, step, partial(player.cluster.client.retry, key, to))


def _workload(player: Player, _: steps.WorkloadStep) -> Lines:
    keys = sorted(player.cluster.world.assignments())
    if not keys:
        raise StoryError("there is no partition to work on; create_topic comes first")
    player.cluster.simulated.clients += start_clients(player.cluster.world, keys)
    return []


def _heal_all(player: Player, step: steps.HealAllStep) -> Lines:
    """End all faults, start every broker, and wait for what must come to hold."""
    cluster, world = player.cluster, player.cluster.world
    absent = frozenset(map(BrokerId, step.without))
    rules = list(cluster.rules)
    _remove(player, rules)
    for rule in rules:
        _release(rule)
    stopped = (world.processes.keys() - cluster.simulated.injector.victims) | cluster.killed
    for broker_id in sorted(stopped):
        process = world.processes[broker_id]
        process.before = None
        while process.is_paused:  # as often as it was paused
            process.resume()
        _reconnect(process)
        if not process.is_alive and broker_id not in absent:
            cluster.start(broker_id)
    world.absent = absent
    owed = cluster.simulated.heal_and_ask()
    return [f"unhealed: {', '.join(sorted(owed))}"] if owed else []


def _read(player: Player, _: steps.ReadStep) -> Lines:
    """Every partition is read from its start to its high watermark, as the last client does."""
    cluster = player.cluster
    if cluster.is_read:
        raise StoryError("all was read already; read comes once, at the end of a run")
    cluster.is_read = True
    keys = sorted(cluster.world.assignments())
    if not keys:
        return ["there is no partition to read"]
    reader = FinalReader(cluster.world, keys)
    reader.go_on()
    done = cluster.wait(FINAL_READ_MS, lambda: reader.is_done)
    return [] if done else ["not all could be read"]


def _check(player: Player, _: steps.CheckStep) -> Lines:
    return list(player.cluster.judge(player.cluster.world.recorder.events))


def _show(player: Player, step: steps.ShowStep) -> Lines:
    if step.show == "results":
        return show_results(player, step)
    if step.show == "state":
        return list(show_state(player.cluster.world))
    page, _, about = step.show[:-1].partition("(")
    if page == "log":
        return list(show_log(player.cluster.world, partition_of(about)))
    heard: list[Response | None] = []
    player.cluster.client.ask(BrokerId(int(about)), ASKED_FOR[page], heard.append)
    player.cluster.wait(player.cluster.answer_ms, lambda: bool(heard))
    return list(show_told(heard[0] if heard else None))


def _replay(player: Player, step: steps.ReplayStep) -> Lines:
    """Play a counterexample of the specs on the core, with its mutant if the run has one."""
    schedule = read_schedule(SCHEDULES / f"{step.replay}.json")
    if player.cluster.world.options.mutant is None:
        setting = structs.replace(schedule.setting, mutants=())
        schedule = structs.replace(schedule, setting=setting)
    done = replay(schedule)
    lines = [f"{done.steps} of {len(schedule.steps)} steps"]
    if done.mismatch is not None:
        lines.append(f"then the core does not take {done.mismatch.action} as the specs do")
    return [*lines, *(f"violated: {name}" for name in sorted(done.violated))]


SIMULATED_STEPS: StepTable = {
    **PERFORMED,
    steps.RetryStep: _retry,
    steps.RemovePartitionsStep: administer,
    **dict.fromkeys(
        (CreateTokenStep, RenewTokenStep, ExpireTokenStep, DescribeTokenStep), administer
    ),
    steps.FindCoordinatorStep: administer,
    steps.WorkloadStep: _workload,
    steps.DisconnectStep: _disconnect,
    steps.ConnectStep: _connect,
    steps.LoseReplyStep: _lose_reply,
    steps.BreakConnectionsStep: _break_connections,
    steps.ZnodeStep: _znode,
    steps.DeleteZnodeStep: _delete_znode,
    steps.CreateZnodeStep: _create_znode,
    steps.SetZnodeStep: _set_znode,
    steps.HoldRequestStep: _add_rule,
    steps.DropRequestStep: _add_rule,
    steps.HoldResponseStep: _add_rule,
    steps.DropResponseStep: _add_rule,
    steps.DeliverStep: _deliver,
    steps.LiftStep: _lift,
    steps.HealAllStep: _heal_all,
    steps.ShowStep: _show,
    steps.ReadStep: _read,
    steps.CheckStep: _check,
    steps.ReplayStep: _replay,
}
"""All steps."""
