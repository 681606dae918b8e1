"""How each kind of fault is done in the simulated world, and undone.

A deed returns how it is undone, or None when there is nothing to act on. Undoing tells evidence;
`matched: 0` says that the fault had no effect.
"""

from fnmatch import fnmatchcase

from fencepost.fault_injection.faults.admin_faults import (
    AddPartitions,
    ElectPreferred,
    KickController,
    ReassignPartition,
    RecreateTopic,
)
from fencepost.fault_injection.faults.clock_faults import DriftClock, JumpClock, StrobeClock
from fencepost.fault_injection.faults.disk_faults import (
    BreakDisk,
    CorruptTail,
    FillDisk,
    LosePower,
    SlowDisk,
    StaleCheckpoint,
)
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.load_faults import BurstLoad, CrashClient
from fencepost.fault_injection.faults.network_faults import (
    BridgeBrokers,
    CutOneWay,
    DelayLink,
    FlapBroker,
    IsolateBroker,
    PartitionBrokers,
    ReorderLink,
    RingOfMajorities,
    SwizzleBrokers,
    windows_of_moments,
)
from fencepost.fault_injection.faults.process_faults import (
    BounceBroker,
    CrashAt,
    KillBroker,
    PauseBroker,
    RollBrokers,
    StarveBroker,
    StopBroker,
    StutterBroker,
)
from fencepost.fault_injection.faults.request_faults import DelayRequest, ReorderRequests, RpcFault
from fencepost.fault_injection.faults.targets import ANY_BROKER
from fencepost.fault_injection.faults.zookeeper_faults import (
    CutZooKeeper,
    DelayWatches,
    DelayZooKeeper,
    DropConnection,
    ExpireSession,
    FailOverZooKeeper,
    FailZooKeeperRequests,
    HurtZooKeeperLink,
    LoseZooKeeperReplies,
    RaceVersion,
    SlowSync,
)
from fencepost.impl.core.types.effects import AppendRecords, Effect, WriteZnodes
from fencepost.impl.core.types.scripts import Ask
from fencepost.impl.sim.engine.move_recorder import MoveRecorder
from fencepost.impl.sim.engine.scheduler import US_PER_MS
from fencepost.impl.sim.injectors.admin import wish_of
from fencepost.impl.sim.injectors.awaited import Heal, Wish, World
from fencepost.impl.sim.injectors.clocks import meddle_with_clock
from fencepost.impl.sim.injectors.links import hurt_link, hurt_links
from fencepost.impl.sim.injectors.load import end_of_producer, more_producers
from fencepost.impl.sim.injectors.restarts import Roll, restart_one
from fencepost.impl.sim.injectors.znodes import kick, race_version
from fencepost.impl.sim.world import slow_sync
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.sim.world.disk import GROWS, USES
from fencepost.impl.sim.world.network import RequestRule
from fencepost.impl.sim.world.process import Process
from fencepost.impl.sim.world.zookeeper_link import HurtLink
from fencepost.impl.trace_lines import Line

SessionFault = (
    CutZooKeeper
    | FailZooKeeperRequests
    | DelayZooKeeper
    | DelayWatches
    | LoseZooKeeperReplies
    | DropConnection
    | HurtZooKeeperLink
)


def do_to_all(fault: Fault, world: World) -> Heal | Wish | None:
    """A fault that is no single broker's."""
    cluster = world.cluster
    match fault:
        case PartitionBrokers() | RingOfMajorities() | SwizzleBrokers():
            return hurt_links(fault, cluster)
        case FailOverZooKeeper():
            return _fail_over(cluster)
        case SlowSync():
            return _slow_sync(fault, cluster)
        case RollBrokers():
            return Roll(fault, cluster).heal
        case KickController():
            return kick(cluster)
        case RaceVersion():
            return race_version(fault, world)
        case ReassignPartition() | AddPartitions() | RecreateTopic() | ElectPreferred():
            return wish_of(fault, world)
        case BurstLoad():
            return more_producers(fault, world)
        case CrashClient():
            return end_of_producer(world)
        case _:
            raise AssertionError(f"{fault.kind} hurts one broker")


def do_to(fault: Fault, cluster: VirtualCluster, process: Process) -> Heal | None:
    """A fault on one broker, its messages or its session."""
    match fault:
        case PauseBroker() | StutterBroker() | StarveBroker():
            return _stop(fault, cluster, process)
        case StopBroker() | BounceBroker():
            return restart_one(fault, cluster, process)
        case KillBroker() | LosePower() | CorruptTail() | StaleCheckpoint() | CrashAt():
            return _crash(fault, cluster, process)
        case FillDisk() | BreakDisk() | SlowDisk():
            return _hurt_disk(fault, cluster, process)
        case ExpireSession():
            return _expire(fault, cluster, process)
        case DriftClock() | JumpClock() | StrobeClock():
            return meddle_with_clock(fault, process)
        case RpcFault():
            return _rule(fault, cluster, process)
        case (
            IsolateBroker()
            | BridgeBrokers()
            | FlapBroker()
            | CutOneWay()
            | ReorderLink()
            | DelayLink()
        ):
            return hurt_link(fault, cluster, process)
        case (
            CutZooKeeper()
            | HurtZooKeeperLink()
            | DelayZooKeeper()
            | DelayWatches()
            | LoseZooKeeperReplies()
            | FailZooKeeperRequests()
            | DropConnection()
        ):
            return _hurt_session(fault, cluster, process)
        case _:
            raise AssertionError(f"{fault.kind} hurts no single broker, or is not simulated")


# Processes


def _stop(
    fault: PauseBroker | StutterBroker | StarveBroker, cluster: VirtualCluster, process: Process
) -> Heal:
    if isinstance(fault, PauseBroker):
        return _pause(process)
    return _stutter(fault, cluster, process)


def _pause(process: Process) -> Heal:
    process.pause()

    def heal() -> Line:
        process.resume()
        return {}

    return heal


def _note_crash(fault: Fault, recorder: MoveRecorder, process: Process) -> None:
    """What moves can do to a disk is noted; that they cannot do the rest is noted too."""
    if isinstance(fault, LosePower):
        process.at_death(lambda: recorder.lost_power(process.broker_id))
    elif not isinstance(fault, KillBroker | CrashAt) or (
        isinstance(fault, KillBroker) and fault.wipe != "none"
    ):
        recorder.obstacle = recorder.obstacle or f"no move does what {fault.kind} does to a disk"


def _crash(
    fault: KillBroker | LosePower | CorruptTail | StaleCheckpoint | CrashAt,
    cluster: VirtualCluster,
    process: Process,
) -> Heal:
    if isinstance(fault, CrashAt) and fault.action == "hold":
        return _hold(fault, process)
    disk = cluster.disks[process.broker_id]
    told: dict[str, int] = {}
    if cluster.move_recorder is not None:
        _note_crash(fault, cluster.move_recorder, process)
    if isinstance(fault, LosePower):
        process.at_death(lambda: told.update(lost=disk.lose_unflushed()))
    if isinstance(fault, CorruptTail):
        chance = cluster.random(f"{fault.kind} of broker-{process.broker_id}")
        process.at_death(lambda: told.update(lost=disk.corrupt_unflushed(chance)))
    if isinstance(fault, StaleCheckpoint):
        process.at_death(lambda: told.update(stale=disk.restore_older_checkpoint()))
    if isinstance(fault, KillBroker) and fault.wipe != "none":
        with_checkpoints = fault.wipe == "all"
        process.at_death(lambda: told.update(matched=disk.wipe(with_checkpoints=with_checkpoints)))
    if isinstance(fault, CrashAt):
        process.crash_at(fault.point, fault.nth)
    else:
        process.kill()

    def heal() -> Line:
        if isinstance(fault, CrashAt) and process.is_alive:
            process.spare()
            return {"matched": 0}
        cluster.restart(process)
        return {**told}

    return heal


def _hold(fault: CrashAt, process: Process) -> Heal:
    """As a process that stops itself: nothing of it moves until it is made to go on."""
    plan = process.crash_at(fault.point, fault.nth, holds=True)

    def heal() -> Line:
        if plan.left > 0:
            process.spare()
            return {"matched": 0}
        process.resume()
        return {"matched": 1}

    return heal


def _hurt_disk(
    fault: FillDisk | BreakDisk | SlowDisk, cluster: VirtualCluster, process: Process
) -> Heal | None:
    if isinstance(fault, SlowDisk):
        return _slow_disk(fault, cluster, process)
    return _fail_disk(fault, cluster, process)


def _fail_disk(fault: FillDisk | BreakDisk, cluster: VirtualCluster, process: Process) -> Heal:
    """A log that the disk refuses is offline until the broker starts again."""
    broker_id, disk = process.broker_id, cluster.disks[process.broker_id]
    disk.refused = GROWS if isinstance(fault, FillDisk) else USES

    def heal() -> Line:
        disk.refused = ()
        now = cluster.processes[broker_id]
        failed = len(now.failed_logs)
        if now.is_alive and failed:
            now.die()
            cluster.restart(now)
        return {"matched": failed}

    return heal


def _slow_disk(fault: SlowDisk, cluster: VirtualCluster, process: Process) -> Heal | None:
    """The process stands still before each append, as one that waits for the disk."""
    if process.before is not None:
        return None
    waits_for: Effect | None = None
    matched = 0

    def before(effect: Effect) -> None:
        nonlocal waits_for, matched
        if isinstance(effect, AppendRecords) and effect is not waits_for:
            waits_for = effect
            matched += 1
            process.pause()
            cluster.scheduler.after_ms(fault.delay_ms, process.resume)

    process.before = before

    def heal() -> Line:
        process.before = None
        return {"matched": matched}

    return heal


def _stutter(
    fault: StutterBroker | StarveBroker, cluster: VirtualCluster, process: Process
) -> Heal:
    state = {"is_over": False, "stands": False, "times": 0}

    def stand() -> None:
        if state["is_over"] or not process.is_alive:
            return
        process.pause()
        state["stands"] = True
        state["times"] += 1
        cluster.scheduler.after_ms(fault.stands_ms, run)

    def run() -> None:
        if not state["stands"]:
            return
        state["stands"] = False
        process.resume()
        cluster.scheduler.after_ms(fault.runs_ms, stand)

    def heal() -> Line:
        run()
        state["is_over"] = True
        return {"matched": state["times"]}

    stand()
    return heal


def _expire(fault: ExpireSession, cluster: VirtualCluster, process: Process) -> Heal | None:
    session_id = process.zookeeper.session_id
    if not session_id:
        return None
    if fault.mode == "local_only":
        process.zookeeper.forget_session()
        return lambda: {"session_id": session_id}
    cluster.zookeeper.end_session(session_id)
    return lambda: {"session_id": session_id}


# Messages


def _rule(fault: RpcFault, cluster: VirtualCluster, process: Process) -> Heal | None:
    receiver = fault.receiver.resolve(cluster.view())
    if receiver is None and fault.receiver != ANY_BROKER:
        return None
    rule = RequestRule(
        method=fault.method,
        sender=process.broker_id,
        receiver=-1 if receiver is None else receiver,
        topic=fault.topic,
        verb=fault.verb,
        count=fault.count,
        delay_ms=fault.delay_ms if isinstance(fault, DelayRequest) else 0,
        window=fault.window if isinstance(fault, ReorderRequests) else 0,
    )
    cluster.network.rules.append(rule)

    def heal() -> Line:
        cluster.network.rules.remove(rule)
        released = len(rule.held)
        for deliver in reversed(rule.held) if rule.window else rule.held:
            deliver()
        return {"matched": rule.matched, "released": released}

    return heal


# ZooKeeper


def _hurt_session(fault: SessionFault, cluster: VirtualCluster, process: Process) -> Heal:
    if isinstance(fault, FailZooKeeperRequests):
        return _fail_requests(fault, process)
    if isinstance(fault, CutZooKeeper):
        return _cut_from_zookeeper(cluster, process)
    if isinstance(fault, DelayWatches):
        return _delay_watches(fault, process)
    if isinstance(fault, HurtZooKeeperLink):
        return _hurt_zookeeper_link(fault, cluster, process)
    if isinstance(fault, DropConnection):
        return _drop_connections(fault, cluster, process)
    if isinstance(fault, DelayZooKeeper):
        process.zookeeper.delay_us = fault.delay_ms * US_PER_MS
    else:
        process.replies_to_lose = fault.count

    def heal() -> Line:
        process.zookeeper.delay_us = 0
        left, process.replies_to_lose = process.replies_to_lose, 0
        return {"matched": fault.count - left} if isinstance(fault, LoseZooKeeperReplies) else {}

    return heal


def _hurt_zookeeper_link(
    fault: HurtZooKeeperLink, cluster: VirtualCluster, process: Process
) -> Heal:
    """Of the broker, whatever process it is: a restart does not mend the way."""
    hurts, is_stall = cluster.hurt_links[process.broker_id], fault.mode == "stall"
    hurt = HurtLink(
        stalls_to_server=is_stall and fault.direction in ("both", "c2s"),
        stalls_to_broker=is_stall and fault.direction in ("both", "s2c"),
        since_ms=cluster.scheduler.now_ms,
    )
    hurts.append(hurt)
    session_id = process.zookeeper.session_id
    if fault.mode == "reset":
        process.zookeeper.break_connection()

    def heal() -> Line:
        hurts.remove(hurt)
        hurt.let_go()
        return {"matched": hurt.matched, "session_id": session_id}

    return heal


def _delay_watches(fault: DelayWatches, process: Process) -> Heal:
    late, matched = process.zookeeper.late, [0]

    def lateness_us(path: str) -> int:
        if not fnmatchcase(path, fault.path):
            return 0
        matched[0] += 1
        return fault.delay_ms * US_PER_MS

    late.lateness_us = lateness_us

    def heal() -> Line:
        late.lateness_us = lambda _: 0
        late.hear_of()
        return {"matched": matched[0]}

    return heal


def _fail_requests(fault: FailZooKeeperRequests, process: Process) -> Heal:
    client, matched = process.zookeeper, [0]

    def fails(ask: Ask) -> bool:
        is_meant = fault.requests == "any" or isinstance(ask, WriteZnodes)
        if not is_meant or matched[0] == fault.count:
            return False
        matched[0] += 1
        return True

    client.fails = fails

    def heal() -> Line:
        client.fails = None
        return {"matched": matched[0]}

    return heal


def _cut_from_zookeeper(cluster: VirtualCluster, process: Process) -> Heal:
    broker_id, session_id = process.broker_id, process.zookeeper.session_id
    cluster.cut_from_zookeeper[broker_id] += 1
    process.zookeeper.break_connection()

    def heal() -> Line:
        cluster.cut_from_zookeeper[broker_id] -= 1
        return {"session_id": session_id}

    return heal


def _drop_connections(fault: DropConnection, cluster: VirtualCluster, process: Process) -> Heal:
    session_id, dropped = process.zookeeper.session_id, [0]

    def drop() -> None:
        if process.is_alive and dropped[0] >= 0:
            dropped[0] += 1
            process.zookeeper.break_connection()

    for start_ms, _ in windows_of_moments(fault.for_ms, fault.every_ms):
        cluster.scheduler.after_ms(start_ms, drop)

    def heal() -> Line:
        matched, dropped[0] = dropped[0], -1
        return {"matched": matched, "session_id": session_id}

    return heal


def _fail_over(cluster: VirtualCluster) -> Heal:
    cluster.zookeeper.stop_serving()
    for broker_id in sorted(cluster.processes):
        cluster.break_connection(broker_id)

    def heal() -> Line:
        cluster.zookeeper.serve()
        return {}

    return heal


def _slow_sync(fault: SlowSync, cluster: VirtualCluster) -> Heal:
    server = cluster.zookeeper
    disk = server.slow_sync = server.slow_sync or slow_sync.SlowSyncQueue(cluster.scheduler)
    disk.delay_us += fault.delay_ms * US_PER_MS
    before = disk.writes

    def heal() -> Line:
        disk.delay_us -= fault.delay_ms * US_PER_MS
        return {"matched": disk.writes - before}

    return heal
